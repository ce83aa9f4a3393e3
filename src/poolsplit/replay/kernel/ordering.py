"""The waiting queue: its order, and the lookups that keep waiting prefixes recent (docs/replay.md, 2)."""

from __future__ import annotations

from poolsplit.replay.kernel.cache import lookup
from poolsplit.replay.kernel.layout import DFS_WEIGHT, KEYS, LISTED, LOF, LPM, LRU, ROOT, World, compiled
from poolsplit.replay.kernel.tokens import common_prefix

LAST = 1 << 60
"""Sorts behind every match."""


@compiled
def arrange(w: World) -> None:
    """Reorders the queue in place, or refreshes what it waits for."""
    option, now = w.option[0], w.now[0]
    count = now.waiting_tail - now.waiting_head
    if option.order == LPM and count <= option.refresh_requests:
        _longest_match_first(w, count)
    elif option.order == DFS_WEIGHT:
        _heaviest_subtree_first(w, count)
    else:
        if option.order == LOF:
            for i in range(count):
                w.scratch[KEYS, i] = -w.requests[w.waiting[now.waiting_head + i]].max_new
            _sort_waiting(w, count)
        _refresh(w, count)


@compiled
def _refresh(w: World, count: int) -> None:
    """Looks up the head of the queue, head last, on the first and then every so many passes."""
    option, now = w.option[0], w.now[0]
    if count == 0 or not option.refresh or option.eviction != LRU:
        return
    if now.refresh_passes % option.refresh_every == 0:
        for i in range(min(count, option.refresh_requests) - 1, -1, -1):
            _find(w, w.waiting[now.waiting_head + i])
    now.refresh_passes += 1


@compiled
def _find(w: World, r: int) -> tuple[int, int, int]:
    request = w.requests[r]
    node, matched, _, _, host_hit = lookup(w, request.first_run, request.prompt + request.outputs)
    return node, matched, host_hit


@compiled
def _longest_match_first(w: World, count: int) -> None:
    """Longest reusable prefix first; a request that shares a head with an earlier unmatched one goes last."""
    head, firsts = w.option[0].shared_head, 0
    for i in range(count):
        r = w.waiting[w.now[0].waiting_head + i]
        _, matched, host_hit = _find(w, r)
        w.scratch[KEYS, i] = -min(matched + host_hit, w.requests[r].prompt + w.requests[r].outputs - 1)
        if matched > head:
            continue
        if _shares_head(w, r, firsts):
            w.scratch[KEYS, i] = LAST
        else:
            w.scratch[LISTED, firsts] = r
            firsts += 1
    _sort_waiting(w, count)


@compiled
def _shares_head(w: World, r: int, firsts: int) -> bool:
    head, request = w.option[0].shared_head, w.requests[r]
    if request.prompt + request.outputs < head:
        return False
    for i in range(firsts):
        other = w.requests[w.scratch[LISTED, i]]
        if other.prompt + other.outputs < head:
            continue
        if common_prefix(w, (request.first_run, 0), (other.first_run, 0), head) == head:
            return True
    return False


@compiled
def _sort_waiting(w: World, count: int) -> None:
    """Stable sort of the queue by the keys in the first row of scratch."""
    head = w.now[0].waiting_head
    for i in range(1, count):
        key, r, j = w.scratch[KEYS, i], w.waiting[head + i], i
        while j > 0 and w.scratch[KEYS, j - 1] > key:
            w.scratch[KEYS, j], w.waiting[head + j] = w.scratch[KEYS, j - 1], w.waiting[head + j - 1]
            j -= 1
        w.scratch[KEYS, j], w.waiting[head + j] = key, r


@compiled
def _heaviest_subtree_first(w: World, count: int) -> None:
    """Walks the tree, subtrees with the most waiting requests first, a node's own requests after its children's."""
    head = w.now[0].waiting_head
    for i in range(count):
        r = w.waiting[head + i]
        w.scratch[LISTED, i] = r
        w.scratch[KEYS, i], _, _ = _find(w, r)
    for i in range(count):
        n = w.scratch[KEYS, i]
        while n != ROOT:
            w.nodes[n].weight += 1
            n = w.nodes[n].parent
    emitted, n = 0, ROOT
    while True:
        child = _heaviest_child(w, n)
        if child != ROOT:
            n = child
            continue
        emitted = _emit(w, n, count, emitted)
        if n == ROOT:
            return
        w.nodes[n].weight = 0
        n = w.nodes[n].parent


@compiled
def _heaviest_child(w: World, n: int) -> int:
    best, weight = ROOT, 0
    child = w.nodes[n].first_child
    while child != ROOT:
        if w.nodes[child].weight > weight:
            best, weight = child, w.nodes[child].weight
        child = w.nodes[child].newer_sibling
    return best


@compiled
def _emit(w: World, n: int, count: int, emitted: int) -> int:
    """Appends the requests whose best node is `n`, in queue order."""
    head = w.now[0].waiting_head
    for i in range(count):
        if w.scratch[KEYS, i] == n:
            w.waiting[head + emitted] = w.scratch[LISTED, i]
            emitted += 1
    return emitted
