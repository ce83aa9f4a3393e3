"""Evictable KV leaves in a persistent heap (docs/replay.md, 5).

A list by time would be wrong: parents come back with old times. Entries are never moved when a leaf is touched or
locked; an entry that no longer tells its node's rank and time is passed over when it comes up.
"""

from __future__ import annotations

from poolsplit.replay.kernel.layout import FIFO, FILO, LFU, MRU, ROOT, SLRU, World, compiled
from poolsplit.replay.kernel.tree import is_evictable_leaf

PROTECTED_HITS = 2
"""Hits from which the segmented policy spares a leaf."""


@compiled
def offer_leaf(w: World, n: int) -> None:
    """Puts a node on the heap if it is an evictable leaf and not there with this rank and time already."""
    if not is_evictable_leaf(w, n):
        return
    node = w.nodes[n]
    rank = _rank(w, n)
    if node.queued_touched == node.touched and node.queued_rank == rank:
        return
    now = w.now[0]
    if now.leaves == w.leaves.size:
        _drop_stale(w)
    node.queued_rank, node.queued_touched = rank, node.touched
    at = now.leaves
    now.leaves += 1
    w.leaves[at].rank, w.leaves[at].touched, w.leaves[at].node = rank, node.touched, n
    _sift_up(w, at)


@compiled
def oldest_leaf(w: World) -> int:
    """Takes the first evictable leaf off the heap, or gives the root when there is none."""
    now = w.now[0]
    while now.leaves > 0:
        n, rank, touched = w.leaves[0].node, w.leaves[0].rank, w.leaves[0].touched
        now.leaves -= 1
        _copy(w, now.leaves, 0)
        _sift_down(w, 0)
        node = w.nodes[n]
        if node.queued_touched != touched or node.queued_rank != rank:
            continue
        node.queued_touched = 0
        if is_evictable_leaf(w, n) and node.touched == touched and _rank(w, n) == rank:
            return n
    return ROOT


@compiled
def _rank(w: World, n: int) -> int:
    """What comes before the time in the order of the policy."""
    node, policy = w.nodes[n], w.option[0].eviction
    if policy == LFU:
        return node.hits
    if policy == SLRU:
        return int(node.hits >= PROTECTED_HITS)
    if policy == FIFO:
        return node.created
    if policy == FILO:
        return -node.created
    if policy == MRU:
        return -node.touched
    return 0


@compiled
def _drop_stale(w: World) -> None:
    now = w.now[0]
    kept = 0
    for i in range(now.leaves):
        node = w.nodes[w.leaves[i].node]
        if node.queued_touched == w.leaves[i].touched and node.queued_rank == w.leaves[i].rank:
            _copy(w, i, kept)
            kept += 1
    now.leaves = kept
    for i in range(kept // 2, -1, -1):
        _sift_down(w, i)


@compiled
def _before(w: World, i: int, j: int) -> bool:
    one, other = w.leaves[i], w.leaves[j]
    return one.rank < other.rank or (one.rank == other.rank and one.touched < other.touched)


@compiled
def _copy(w: World, source: int, target: int) -> None:
    one, other = w.leaves[source], w.leaves[target]
    other.rank, other.touched, other.node = one.rank, one.touched, one.node


@compiled
def _swap(w: World, i: int, j: int) -> None:
    one, other = w.leaves[i], w.leaves[j]
    rank, touched, node = one.rank, one.touched, one.node
    one.rank, one.touched, one.node = other.rank, other.touched, other.node
    other.rank, other.touched, other.node = rank, touched, node


@compiled
def _sift_up(w: World, i: int) -> None:
    while i > 0 and _before(w, i, (i - 1) // 2):
        _swap(w, i, (i - 1) // 2)
        i = (i - 1) // 2


@compiled
def _sift_down(w: World, i: int) -> None:
    count = w.now[0].leaves
    while 2 * i + 1 < count:
        child = 2 * i + 1
        if child + 1 < count and _before(w, child + 1, child):
            child += 1
        if not _before(w, child, i):
            return
        _swap(w, i, child)
        i = child
