"""What a model of the KV pool alone would promise: least-recently-used blocks, no states, no checkpoints, no scheduler.

Every request touches the blocks of its prompt, then those that its answer fills, leaf to root, so that the root is the
most recent. What one touch last touched is then one extent of its own path: later touches move its begin forward, and
eviction moves the end of the oldest extents back. So nothing is kept block by block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from poolsplit.replay.ordered.request_tree import build_request_tree

if TYPE_CHECKING:
    from poolsplit.replay.trace_columns import TraceColumns

Ints = NDArray[np.int64]
NOBODY = -1


class _Cache(NamedTuple):
    """Extents by touch, and on each range of the tree a stack of who touched it last, shallowest on top."""

    begin: Ints
    end: Ints
    top: Ints
    """First mark of each range, or -1."""
    marks: Ints
    """Rows of (end depth, touch, next mark)."""
    counts: Ints
    """Blocks held, oldest touch with blocks, free mark, marks used."""


_HELD, _OLDEST, _FREE, _USED = 0, 1, 2, 3
_END, _TOUCH, _NEXT = 0, 1, 2


def kv_only_cached_tokens(trace: TraceColumns, order: Ints, kv_tokens: int) -> int:
    """Input tokens that a cache of KV blocks alone would reuse, over the requests of `order` in that order.

    Args:
        trace: The requests.
        order: Rows, in order of their start.
        kv_tokens: Tokens of the pool; it holds whole blocks.

    Shapes:
        order: (requests that started,)

    Source: exact least-recently-used over block ids, the model of block-hash simulators; held to published curves and
        to a cache kept block by block.
    Known error:
        Every started request finds and leaves its blocks at once; running requests reserve nothing, tokens behind the
        last block and answers that no later row sends back take no room, and a repeated prompt counts whole.
    """
    block = trace.block_tokens
    tree = build_request_tree(trace, block)
    rows = len(tree)
    listed = np.asarray(trace.kept_blocks + trace.new_blocks, dtype=np.int64)
    tail = tree.last >= rows
    onto = np.where(tail, tree.parent[tree.last], tree.last)
    answered = (tree.prompt + tree.output) // block
    answered[tail] = np.minimum(answered, tree.start[tree.last] // block)[tail]
    ranges = (tree.parent[:rows], tree.start[:rows] // block)
    found = _run(ranges, listed, (onto, answered), np.ascontiguousarray(order, dtype=np.int64), kv_tokens // block)
    return int(np.minimum(found * block, trace.input_tokens[order]).sum())


@njit(cache=True)
def _run(ranges: tuple[Ints, Ints], listed: Ints, answers: tuple[Ints, Ints], order: Ints, capacity: int) -> Ints:
    """Leading blocks of each prompt that were held when it came."""
    onto, answered = answers
    touches = 2 * order.size
    cache = _Cache(
        np.zeros(touches, np.int64), np.zeros(touches, np.int64), np.full(listed.size, NOBODY, np.int64),
        np.zeros((1024, 3), np.int64), np.array([0, 0, NOBODY, 0], np.int64),
    )  # fmt: skip
    found = np.zeros(order.size, np.int64)
    for at in range(order.size):
        row = order[at]
        cache = _with_room(cache, ranges[0], row)
        found[at] = _touch(cache, ranges, (row, listed[row]), 2 * at)
        _evict(cache, capacity)
        if onto[row] >= 0 and onto[row] != row:
            cache = _with_room(cache, ranges[0], onto[row])
            _touch(cache, ranges, (onto[row], answered[row]), 2 * at + 1)
            _evict(cache, capacity)
    return found


@njit(cache=True)
def _with_room(cache: _Cache, parent: Ints, row: int) -> _Cache:
    """The cache with a free mark for every range of one path."""
    ranges = 0
    while row >= 0:
        ranges, row = ranges + 1, parent[row]
    if cache.counts[_USED] + ranges <= cache.marks.shape[0]:
        return cache
    marks = np.zeros((2 * cache.marks.shape[0] + ranges, 3), np.int64)
    marks[: cache.marks.shape[0]] = cache.marks
    return _Cache(cache.begin, cache.end, cache.top, marks, cache.counts)


@njit(cache=True)
def _touch(cache: _Cache, ranges: tuple[Ints, Ints], path: tuple[int, int], touch: int) -> int:
    """Makes a path the most recent; gives the leading blocks of it that were held."""
    parent, start = ranges
    row, end = path
    held = end
    cache.end[touch] = end
    while row >= 0 and end > 0:
        if end > start[row]:
            upto = _touch_range(cache, row, (start[row], end), touch)
            held = min(held, upto) if upto < end else held
            end = start[row]
        row = parent[row]
    cache.counts[_HELD] += cache.end[touch]
    return held


@njit(cache=True)
def _touch_range(cache: _Cache, row: int, span: tuple[int, int], touch: int) -> int:
    """Marks one range from its begin to a depth; gives the depth up to which it was held."""
    at, end = span
    held, mark = end, cache.top[row]
    while mark != NOBODY and at < end:
        upto = min(cache.marks[mark, _END], end)
        owner = cache.marks[mark, _TOUCH]
        if cache.end[owner] < upto:
            held = min(held, max(at, cache.end[owner]))
        _hand_over(cache, owner, upto)
        at = upto
        if cache.marks[mark, _END] > end:
            break
        below = cache.marks[mark, _NEXT]
        cache.marks[mark, _NEXT], cache.counts[_FREE] = cache.counts[_FREE], mark
        mark = below
    _mark(cache, row, (end, touch, mark))
    return min(held, at)


@njit(cache=True)
def _hand_over(cache: _Cache, owner: int, upto: int) -> None:
    """Takes the blocks before a depth out of an older extent."""
    if cache.begin[owner] < upto:
        cache.counts[_HELD] -= max(0, min(upto, cache.end[owner]) - cache.begin[owner])
        cache.begin[owner] = upto


@njit(cache=True)
def _mark(cache: _Cache, row: int, mark: tuple[int, int, int]) -> None:
    at = cache.counts[_FREE]
    if at == NOBODY:
        at = cache.counts[_USED]
        cache.counts[_USED] += 1
    else:
        cache.counts[_FREE] = cache.marks[at, _NEXT]
    cache.marks[at, _END], cache.marks[at, _TOUCH], cache.marks[at, _NEXT] = mark
    cache.top[row] = at


@njit(cache=True)
def _evict(cache: _Cache, capacity: int) -> None:
    """Drops the oldest extents from their ends until the rest fits."""
    while cache.counts[_HELD] > capacity:
        oldest = cache.counts[_OLDEST]
        blocks = max(0, cache.end[oldest] - cache.begin[oldest])
        over = min(blocks, cache.counts[_HELD] - capacity)
        cache.end[oldest] -= over
        cache.counts[_HELD] -= over
        if over == blocks:
            cache.counts[_OLDEST] += 1
