"""Free memory of one launch's cards before and after the weights, as the engine measures it."""

from __future__ import annotations

from dataclasses import dataclass


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

    def per_stage_gib(self, stages: int) -> tuple[float, ...]:
        """The figure that each pipeline stage sees."""
        after = self.after_gib * stages if len(self.after_gib) == 1 else self.after_gib
        return (min(after),) * stages if self.shared_minimum else after
