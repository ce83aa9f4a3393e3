"""The card a launch runs on: what an engine's rules read of it."""

from __future__ import annotations

from dataclasses import dataclass

from poolsplit.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator model."""

    name: str
    memory_mib: int | None
    """Size as the driver reports it, in MiB; None when it is not known."""
    compute_capability: tuple[int, int]
    """Major and minor number, such as (9, 0) for Hopper."""
    verified: bool = True
    """Whether answers for this card were held against the engine itself."""
    rocm: bool = False
    """Whether it runs AMD's stack; its capability then only stands in for rules that are not known."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """What must be said of an answer for a card that was not held against the engine."""
        text = f"{self.name} was not held against the engine: read this answer as not verified"
        return () if self.verified else (text,)

    def __post_init__(self) -> None:
        if self.memory_mib is not None and self.memory_mib < 1:
            raise InputError(f"the card has {self.memory_mib} MiB", where=self.name, hint="give a size such as 80GiB")
