"""Where to cut a model into pipeline stages: every cut that no other beats on all that a stage pays for.

Requests fall with the layers of the longest stage (its weights), and with the state, attention and window layers of the
stage that has most of each. Which of them counts more depends on the memory and the traffic, so all such cuts are found
and each is to be solved.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.sglang.shards import StageRange
    from poolsplit.shapes.model_shape import ModelShape


def undominated_partitions(shape: ModelShape, stages: int) -> tuple[tuple[int, ...], ...]:
    """Layers per stage of every cut worth solving; () when there are more stages than layers.

    No other cut has fewer layers of one kind on the stage with most of that kind, and no more of any other kind.

    Source: held by `test_no_cut_beats_those_that_are_solved`, which tries every cut.
    """
    if stages > shape.layers:
        return ()
    cutter = _Cutter(shape.layers, stages, [ids for ids in _paid_kinds(shape) if ids])
    limits = cutter.least_limits(())
    best = [one for one in limits if not any(_beats(other, one) for other in limits)]
    return tuple(cutter.even_cut(one) for one in sorted(best))


def _paid_kinds(shape: ModelShape) -> Iterator[tuple[int, ...]]:
    """Layers by what they cost a stage: weights, state, rows, index keys, rows of a window."""
    yield tuple(range(shape.layers))
    yield shape.state_layer_ids
    yield shape.kv_layer_ids
    index = shape.attention.index if shape.attention is not None else None
    yield () if index is None else tuple(ids for ids in shape.kv_layer_ids if ids not in index.shared_layer_ids)
    yield shape.window.layer_ids if shape.window is not None else ()


def with_moved_weights(memory: FreeMemory, was: tuple[StageRange, ...], now: tuple[StageRange, ...]) -> FreeMemory:
    """Free memory once layers have moved between the stages, and their weights with them.

    Args:
        memory: As it is with the stages as they were.
        was: The stages that it was measured or estimated with.
        now: As many stages, cut elsewhere.

    Known error: all layers count as equally heavy, and embeddings as part of them; one figure for all stages is taken
    for that of the longest.
    """
    if was == now:
        return memory
    before, after = memory.before_gib, memory.after_gib
    grown = (
        [_length(new) / max(1, _length(old)) for old, new in zip(was, now, strict=True)]
        if len(after) > 1
        else [max(map(_length, now)) / max(map(_length, was))]
    )
    moved = tuple(before - (before - free) * growth for free, growth in zip(after, grown, strict=True))
    return replace(memory, after_gib=moved)


def _length(stage: StageRange) -> int:
    return stage.end - stage.start


def _beats(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


class _Cutter:
    """Cuts of one model into a number of stages, under limits on the layers of each kind that a stage may hold."""

    def __init__(self, layers: int, stages: int, kinds: Sequence[Sequence[int]]) -> None:
        self._layers, self._stages = layers, stages
        self._before = [
            list(accumulate((layer in ids for layer in range(layers)), initial=0)) for ids in map(frozenset, kinds)
        ]
        """Of every kind, layers of it before each layer."""
        self._totals = tuple(before[-1] for before in self._before)

    def least_limits(self, fixed: tuple[int, ...]) -> set[tuple[int, ...]]:
        """Limits that begin with the fixed ones and of which none can be lowered alone, and a few that can."""
        kind = len(fixed)
        if kind == len(self._totals):
            return {fixed}
        unlimited = self._totals[kind + 1 :]
        limit = -(-self._totals[kind] // self._stages)
        while not self._possible((*fixed, limit, *unlimited)):
            limit += 1
        loosest = self._rests((*fixed, self._totals[kind]))
        found = set()
        for raised in range(limit, self._totals[kind] + 1):
            tried = self.least_limits((*fixed, raised))
            found |= tried
            if {one[kind + 1 :] for one in tried} == loosest:
                break
        return found

    def _rests(self, fixed: tuple[int, ...]) -> set[tuple[int, ...]]:
        return {one[len(fixed) :] for one in self.least_limits(fixed)}

    def _possible(self, limits: tuple[int, ...]) -> bool:
        """Whether so many stages can hold all layers: the longest first stages leave least."""
        start = 0
        for _ in range(self._stages):
            start = self._furthest_end(start, limits)
            if start == self._layers:
                return True
        return False

    def even_cut(self, limits: tuple[int, ...]) -> tuple[int, ...]:
        """The stages nearest to equal lengths under the limits, longer ones last."""
        least_starts = [self._layers]
        for _ in range(self._stages):
            least_starts.append(self._first_start(least_starts[-1], limits))
        start, sizes = 0, []
        for left in range(self._stages, 0, -1):
            least = max(start + 1, least_starts[left - 1])
            most = min(self._furthest_end(start, limits), self._layers - left + 1)
            end = min(max(start + (self._layers - start) // left, least), most)
            sizes.append(end - start)
            start = end
        return tuple(sizes)

    def _furthest_end(self, start: int, limits: tuple[int, ...]) -> int:
        return min(
            bisect_right(before, before[start] + limit) - 1 for before, limit in zip(self._before, limits, strict=True)
        )

    def _first_start(self, end: int, limits: tuple[int, ...]) -> int:
        return max(bisect_left(before, before[end] - limit) for before, limit in zip(self._before, limits, strict=True))
