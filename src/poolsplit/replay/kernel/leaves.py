"""Evictable KV leaves in a persistent heap (docs/replay.md, 5), and those of the host in another (10).

A list by time would be wrong: parents come back with old times. Entries are never moved when a leaf is touched or
locked; an entry that no longer tells its node's rank and time is passed over when it comes up.
"""

from __future__ import annotations

from poolsplit.replay.kernel.heap import copy_entry, drop_first, push, sift_down
from poolsplit.replay.kernel.layout import FIFO, FILO, LFU, MRU, ROOT, SLRU, World, compiled
from poolsplit.replay.kernel.tree import is_evictable_leaf, is_host_leaf

PROTECTED_HITS = 2
"""Hits from which the segmented policy spares a leaf."""


@compiled
def offer_leaf(w: World, n: int) -> None:
    """Puts a node on the heap if it is an evictable leaf and not there with this rank and time already."""
    if not is_evictable_leaf(w, n):
        if w.option[0].host:
            _offer_host_leaf(w, n)
        return
    node = w.nodes[n]
    rank = _rank(w, n)
    if node.queued_touched == node.touched and node.queued_rank == rank:
        return
    now = w.now[0]
    if now.leaves == w.leaves.size:
        _drop_stale(w)
    node.queued_rank, node.queued_touched = rank, node.touched
    push(w.leaves, now.leaves, rank, node.touched, n)
    now.leaves += 1


@compiled
def offer_leaves_up(w: World, n: int) -> None:
    """Offers a node, and the first above it that is on the device: with only host nodes below, that is a leaf, too."""
    offer_leaf(w, n)
    while w.option[0].host and n != ROOT and w.hosted[n].off_device:
        n = w.nodes[n].parent
        offer_leaf(w, n)


@compiled
def oldest_leaf(w: World) -> int:
    """Takes the first evictable leaf off the heap, or gives the root when there is none."""
    now = w.now[0]
    while now.leaves > 0:
        n, rank, touched = w.leaves[0].node, w.leaves[0].rank, w.leaves[0].touched
        drop_first(w.leaves, now.leaves)
        now.leaves -= 1
        node = w.nodes[n]
        if node.queued_touched != touched or node.queued_rank != rank:
            continue
        node.queued_touched = 0
        if is_evictable_leaf(w, n) and node.touched == touched and _rank(w, n) == rank:
            return n
    return ROOT


@compiled
def oldest_host_leaf(w: World) -> int:
    """The same among the leaves that are on the host alone."""
    now = w.now[0]
    while now.host_leaves > 0:
        n, touched = w.host_leaves[0].node, w.host_leaves[0].touched
        drop_first(w.host_leaves, now.host_leaves)
        now.host_leaves -= 1
        if w.hosted[n].queued_touched != touched:
            continue
        w.hosted[n].queued_touched = 0
        if is_host_leaf(w, n) and w.nodes[n].touched == touched:
            return n
    return ROOT


@compiled
def _offer_host_leaf(w: World, n: int) -> None:
    """Its rank cannot change while it is on the host alone."""
    node, hosted, now = w.nodes[n], w.hosted[n], w.now[0]
    if hosted.queued_touched == node.touched or not is_host_leaf(w, n):
        return
    if now.host_leaves == w.host_leaves.size:
        _drop_stale_of_host(w)
    hosted.queued_touched = node.touched
    push(w.host_leaves, now.host_leaves, _rank(w, n), node.touched, n)
    now.host_leaves += 1


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
            copy_entry(w.leaves, i, kept)
            kept += 1
    now.leaves = kept
    for i in range(kept // 2, -1, -1):
        sift_down(w.leaves, kept, i)


@compiled
def _drop_stale_of_host(w: World) -> None:
    now = w.now[0]
    kept = 0
    for i in range(now.host_leaves):
        if w.hosted[w.host_leaves[i].node].queued_touched == w.host_leaves[i].touched:
            copy_entry(w.host_leaves, i, kept)
            kept += 1
    now.host_leaves = kept
    for i in range(kept // 2, -1, -1):
        sift_down(w.host_leaves, kept, i)
