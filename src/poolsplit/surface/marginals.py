"""Recomputed tokens along one axis, the other pool endless: exact replays placed where the curve is steepest."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolsplit.surface.cells import ENDLESS, Split

if TYPE_CHECKING:
    from poolsplit.surface.cells import Replays

Axis = Literal["state", "kv"]
AXES: tuple[Axis, ...] = ("state", "kv")
WORTH_A_REPLAY = 1e-4
"""Step in the logarithm of recomputed tokens below which an interval is flat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Recomputed tokens at some sizes of one pool, ascending; between them the logarithm is straight."""

    axis: Axis
    sizes: tuple[int, ...]
    recomputed: tuple[int, ...]

    def at(self, size: int) -> float:
        """Recomputed tokens at a size; infinite below the least that serves the order."""
        if size < self.sizes[0]:
            return math.inf
        right = bisect_left(self.sizes, size)
        if right == len(self.sizes):
            return float(self.recomputed[-1])
        if self.sizes[right] == size:
            return float(self.recomputed[right])
        share = math.log(size / self.sizes[right - 1]) / math.log(self.sizes[right] / self.sizes[right - 1])
        one, other = (math.log(max(1, self.recomputed[i])) for i in (right - 1, right))
        return math.exp(one + share * (other - one))


def split_on(axis: Axis, size: int) -> Split:
    """A size of one pool with the other endless."""
    if axis == "state":
        return Split(state_slots=size, kv_tokens=ENDLESS)
    return Split(state_slots=ENDLESS, kv_tokens=size)


def trace_curves(replays: Replays, ranges: dict[Axis, tuple[int, int]], count: int) -> dict[Axis, Curve]:
    """Both marginals from `count` replays each, two at a time.

    Each replay bisects the interval with the largest step of the logarithm of recomputed tokens: evenly spaced ones
    miss the cliff.

    Args:
        replays: Exact replays.
        ranges: Least and largest size of each pool.
        count: Replays on each axis, both ends included.

    Source: docs/surface.md section 3. Held by tests/unit/surface/test_marginals.py.
    """
    sizes = {axis: sorted(set(ends)) for axis, ends in ranges.items()}
    replays.of([split_on(axis, size) for axis in AXES for size in sizes[axis]])
    while True:
        wanted = [
            (axis, middle)
            for axis in AXES
            if len(sizes[axis]) < count and (middle := _steepest_middle(replays, axis, sizes[axis])) is not None
        ]
        if not wanted:
            break
        replays.of([split_on(axis, size) for axis, size in wanted])
        for axis, size in wanted:
            sizes[axis] = sorted({*sizes[axis], size})
    return {axis: _curve(replays, axis, sizes[axis]) for axis in AXES}


def _steepest_middle(replays: Replays, axis: Axis, sizes: list[int]) -> int | None:
    """Geometric middle of the interval with the largest step; None when all are flat or next to each other."""
    heights = [math.log(max(1.0, replays.recomputed(split_on(axis, size)))) for size in sizes]
    steps = [
        (abs(heights[i] - heights[i + 1]), -i)
        for i in range(len(sizes) - 1)
        if sizes[i + 1] - sizes[i] > 1 and math.isqrt(sizes[i] * sizes[i + 1]) > sizes[i]
    ]
    if not steps:
        return None
    step, place = max(steps)
    return math.isqrt(sizes[-place] * sizes[-place + 1]) if step > WORTH_A_REPLAY else None


def _curve(replays: Replays, axis: Axis, sizes: list[int]) -> Curve:
    kept = [size for size in sizes if replays.one(split_on(axis, size)).fits]
    found = tuple(int(replays.recomputed(split_on(axis, size))) for size in kept)
    return Curve(axis=axis, sizes=tuple(kept), recomputed=found)
