"""A min-heap of leaves over an array: by rank, then by time."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import Records, compiled


@compiled
def push(heap: Records, count: int, rank: int, touched: int, node: int) -> None:
    """Adds an entry to a heap of `count`; the caller counts it."""
    entry = heap[count]
    entry.rank, entry.touched, entry.node = rank, touched, node
    i = count
    while i > 0 and _before(heap, i, (i - 1) // 2):
        _swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def drop_first(heap: Records, count: int) -> None:
    """Takes the first entry off a heap of `count`; the caller counts it."""
    copy_entry(heap, count - 1, 0)
    sift_down(heap, count - 1, 0)


@compiled
def copy_entry(heap: Records, source: int, target: int) -> None:
    """Writes one entry over another."""
    one, other = heap[source], heap[target]
    other.rank, other.touched, other.node = one.rank, one.touched, one.node


@compiled
def sift_down(heap: Records, count: int, i: int) -> None:
    """Moves an entry down until none below it comes before it."""
    while 2 * i + 1 < count:
        child = 2 * i + 1
        if child + 1 < count and _before(heap, child + 1, child):
            child += 1
        if not _before(heap, child, i):
            return
        _swap(heap, i, child)
        i = child


@compiled
def _before(heap: Records, i: int, j: int) -> bool:
    one, other = heap[i], heap[j]
    return one.rank < other.rank or (one.rank == other.rank and one.touched < other.touched)


@compiled
def _swap(heap: Records, i: int, j: int) -> None:
    one, other = heap[i], heap[j]
    rank, touched, node = one.rank, one.touched, one.node
    one.rank, one.touched, one.node = other.rank, other.touched, other.node
    other.rank, other.touched, other.node = rank, touched, node
