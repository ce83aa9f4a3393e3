"""The best split on one budget line: bytes shared between the pools (docs/surface.md, 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.surface.cells import ENDLESS, Split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from poolsplit.surface.cells import Replays

SPLITS = 100
"""Splits of a line."""
FARTHEST_LOGIT = math.log(199)
"""Shares run from 0.5 % to 99.5 %, evenly in their logit."""
STEPS = (8, 4, 2, 1)
"""Steps of the search, in splits of the line."""
VALLEY_STEPS = (16, 8, 4, 2, 1)
HARDLY = 0.003
"""Share of recomputed tokens that a safer split may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Bytes for both pools, and what one unit of each costs on the same rank."""

    total_bytes: int
    state_bytes: int
    """One state slot."""
    kv_bytes: float
    """One KV token."""
    padding_slots: int = 1
    """Slots that the state pool allocates and nobody uses."""

    def __post_init__(self) -> None:
        if not (self.state_bytes >= 1 and 0 < self.kv_bytes < math.inf):
            raise InputError("a state slot and a KV token take bytes", hint="`poolsplit plan` prints both")
        if not 0 < self.total_bytes <= ENDLESS * min(1.0, self.kv_bytes):
            raise InputError(f"no server has {self.total_bytes} bytes for its pools", hint="give bytes, such as 60GiB")

    def split_at(self, share: float) -> Split:
        """The split that gives this share of the bytes to states."""
        slots = int(self.total_bytes * share) // self.state_bytes - self.padding_slots
        taken = (max(slots, 0) + self.padding_slots) * self.state_bytes
        return Split(state_slots=slots, kv_tokens=int((self.total_bytes - taken) / self.kv_bytes))

    @property
    def most(self) -> Split:
        """Each pool alone in the whole budget."""
        return Split(
            state_slots=self.total_bytes // self.state_bytes - self.padding_slots,
            kv_tokens=int(self.total_bytes / self.kv_bytes),
        )

    def bytes_of(self, split: Split) -> int:
        """What a split takes."""
        states = (split.state_slots + self.padding_slots) * self.state_bytes
        return states + math.ceil(split.kv_tokens * self.kv_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedBudget(Budget):
    """A budget whose splits come from a start-up solver: whole slots, pages and every stage counted."""

    solve: Callable[[int], Split | None]
    """The split with so many state slots; None where the server would not start."""

    def split_at(self, share: float) -> Split:
        """The solved split nearest to this share of the bytes."""
        slots = max(1, Budget.split_at(self, share).state_slots)
        return self.solve(slots) or Split(state_slots=slots, kv_tokens=0)


def shares(count: int = SPLITS) -> tuple[float, ...]:
    """Shares of the states, evenly in their logit."""
    logits = [FARTHEST_LOGIT * (2 * (i + 0.5) / count - 1) for i in range(count)]
    return tuple(1 / (1 + math.exp(-x)) for x in logits)


def splits_of(budget: Budget, floors: Split) -> list[Split]:
    """Splits of a line in which what runs at once can fit; neighbours that fall together are one."""
    found = (budget.split_at(share) for share in shares())
    return [s for s in dict.fromkeys(found) if s.state_slots >= floors.state_slots and s.kv_tokens >= floors.kv_tokens]


def coarse_best(splits: Sequence[Split], replays: Replays, count: int) -> int:
    """Place of the best of `count` splits spread over the line."""
    places = sorted({round(i * (len(splits) - 1) / max(1, count - 1)) for i in range(count)})
    replays.of([splits[i] for i in places])
    return min(places, key=lambda i: replays.recomputed(splits[i]))


def best_by(splits: Sequence[Split], recomputed: Callable[[Split], float]) -> int:
    """Place of the split with the fewest recomputed tokens by an estimate; the middle one of equals."""
    heights = [recomputed(split) for split in splits]
    least = min(heights)
    equal = [i for i, height in enumerate(heights) if height <= least]
    return equal[len(equal) // 2]


def pattern_search(splits: Sequence[Split], replays: Replays, starts: Sequence[int]) -> int:
    """Place of the best split near the best of some starts: both neighbours at steps of 8, 4, 2 and 1.

    Source: docs/surface.md section 4. Held by tests/unit/surface/test_line.py and bench/surface_regret.py.
    Known error:
        0.02 % more recomputed tokens than the best of the line at worst where it was measured.
    """
    replays.of([splits[i] for i in starts])
    place = min(starts, key=lambda i: replays.recomputed(splits[i]))
    for step in STEPS:
        near = [i for i in (place - step, place, place + step) if 0 <= i < len(splits)]
        replays.of([splits[i] for i in near])
        place = min(near, key=lambda i: (replays.recomputed(splits[i]), abs(i - place)))
    return place


def middle_of_valley(splits: Sequence[Split], replays: Replays, place: int, rivals: Sequence[Split] = ()) -> int:
    """Place in the middle of the splits around the best one that recompute hardly more.

    Other traffic than the one replayed moves the walls of the valley, so the middle is safer than its lowest point.
    It recomputes no more than any of the rivals, which are no better than the best place.
    """
    most = min([replays.recomputed(splits[place]) * (1 + HARDLY), *map(replays.recomputed, rivals)])
    walls = [_wall(splits, replays, place, way, most) for way in (-1, 1)]
    middle = sum(walls) // 2
    while replays.recomputed(splits[middle]) > most:
        middle += 1 if middle < place else -1
    return middle


def _wall(splits: Sequence[Split], replays: Replays, place: int, way: int, most: float) -> int:
    """The farthest place to one side that is reached by steps of 16, 8, 4, 2 and 1 over splits below a height."""
    at = place
    for step in VALLEY_STEPS:
        while 0 <= at + way * step < len(splits) and replays.recomputed(splits[at + way * step]) <= most:
            at += way * step
    return at
