"""Free memory of one launch's cards before and after the weights, as the engine measures it."""

from __future__ import annotations

from dataclasses import dataclass

from poolsplit.errors import InputError

LARGEST_GIB = 2**23
"""Above it a float no longer counts single bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeMemory:
    """What is free on a card, in binary gigabytes, because an engine's own arithmetic starts from that float."""

    before_gib: float
    """Before the weights are loaded; the least over all ranks."""
    after_gib: tuple[float, ...]
    """After target and draft weights: one figure for all stages, or one per stage."""
    shared_minimum: bool = True
    """Every rank sees the least figure over all ranks, as in a start-up of more than one rank."""
    extra_slot_bytes: int = 0
    """Bytes that a custom model adds to every state slot over all its layers."""

    def __post_init__(self) -> None:
        sizes = (self.before_gib, *self.after_gib)
        if not (self.before_gib > 0 and self.after_gib and all(abs(size) <= LARGEST_GIB for size in sizes)):
            raise InputError(
                f"{self.before_gib} GiB free before the weights and {self.after_gib} after them cannot be meant",
                hint="give what a start-up log prints around the weights, such as 139GiB and 101GiB",
            )

    def per_stage_gib(self, stages: int) -> tuple[float, ...]:
        """The figure that each pipeline stage sees.

        Raises:
            InputError: Neither one figure nor one a stage.
        """
        if len(self.after_gib) not in {1, stages}:
            raise InputError(
                f"{len(self.after_gib)} free sizes are given for {stages} pipeline stages", hint="give one, or one each"
            )
        after = self.after_gib * stages if len(self.after_gib) == 1 else self.after_gib
        return (min(after),) * stages if self.shared_minimum else after
