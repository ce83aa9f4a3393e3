"""Splits, what a replay of one says, and replays that are run once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Method = Literal["pass", "marginals", "replay", "scheduler"]
METHODS: tuple[Method, ...] = ("pass", "marginals", "replay", "scheduler")
"""How a cell was made, from the quickest to the surest."""

ENDLESS = 1 << 60
"""A pool that never fills."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Split:
    """Both pools of one server."""

    state_slots: int
    kv_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one replay of one split says."""

    cached_tokens: int
    """Input tokens reused."""
    out_of: Literal["state", "kv"] | None
    """The pool that could not hold what runs at once; then nothing else counts."""

    @property
    def fits(self) -> bool:
        """What runs at once fits."""
        return self.out_of is None


@dataclass(slots=True, kw_only=True)
class Replays:
    """Replays by split, each run once; several are run at once where `run` can."""

    run: Callable[[Sequence[Split]], Sequence[Outcome]]
    """Replays of some splits, in their order."""
    input_tokens: int
    """Of the whole trace."""
    known: dict[Split, Outcome] = field(default_factory=dict)
    """What was replayed."""

    def of(self, splits: Sequence[Split]) -> list[Outcome]:
        """Outcomes of some splits."""
        new = list(dict.fromkeys(s for s in splits if s not in self.known))
        if new:
            self.known.update(zip(new, self.run(new), strict=True))
        return [self.known[s] for s in splits]

    def one(self, split: Split) -> Outcome:
        """Outcome of one split."""
        return self.of([split])[0]

    def recomputed(self, split: Split) -> float:
        """Input tokens that were computed again; infinite when what runs at once does not fit."""
        outcome = self.one(split)
        return self.input_tokens - outcome.cached_tokens if outcome.fits else float("inf")
