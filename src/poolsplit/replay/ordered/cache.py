"""Lookups, inserts and locks of one request on its path (docs/replay.md, 2 and 4)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered.layout import ROOT, World
from poolsplit.replay.ordered.pools import add_state, make_state_recent, offer_leaf
from poolsplit.replay.ordered.tree import (
    add_leaf,
    extend_path,
    find_child,
    read_path,
    segment_at,
    shared_end,
    split,
    tick,
)


@compiled
def lookup(w: World, r: int, length: int) -> int:
    """The deepest node on the first `length` tokens with a state, made recent; notes what matched on the record."""
    request, page = w.requests[r], w.option[0].page
    limit = length // page * page
    node = read_path(w, r, limit)
    best = node
    while best != ROOT and not w.nodes[best].has_state:
        best = w.nodes[best].parent
    position, place = w.nodes[node].end, w.now[0].path - 1
    while position < limit:
        place = segment_at(w, place, position)
        child = find_child(w, node, w.path[place])
        if child == ROOT:
            break
        shared = shared_end(w, child, limit) // page * page
        whole = shared == w.nodes[child].end
        node = child if whole else split_node(w, child, shared)
        position = shared
        if w.nodes[node].has_state:
            best = node
        if not whole:
            break
    request.kv_matched, request.matched = position, w.nodes[best].end
    extend_path(w, request.matched)
    if best != ROOT:
        make_state_recent(w, best)
        touch(w, best)
        offer_leaf(w, best)
    return best


@compiled
def insert(w: World, r: int, length: int) -> bool:
    """Puts a request's first `length` tokens into the tree with a state at their end, and moves the lock there.

    The path at hand is the request's own. Gives whether the state was kept.
    """
    request, option, now = w.requests[r], w.option[0], w.now[0]
    end = length // option.page * option.page
    if end == 0:
        return _hand_over(w, r, ROOT, False)
    node, position, place = request.lock, request.protected, now.path - 1
    while position < end:
        place = segment_at(w, place, position)
        child = find_child(w, node, w.path[place])
        if child == ROOT:
            break
        shared = shared_end(w, child, end) // option.page * option.page
        whole = shared == w.nodes[child].end
        node = child if whole else split_node(w, child, shared)
        now.kv_free += shared - position
        position = shared
        if not whole:
            break
    if position < end:
        last = segment_at(w, place, end - 1)
        node = add_leaf(w, node, w.path[segment_at(w, place, position)], w.path[last], end)
    touch(w, node)
    kept = not w.nodes[node].has_state
    if kept:
        add_state(w, node)
    else:
        make_state_recent(w, node)
    return _hand_over(w, r, node, kept)


@compiled
def _hand_over(w: World, r: int, node: int, kept: bool) -> bool:
    request = w.requests[r]
    unlock(w, request.lock, request.holds_state)
    request.lock = node
    request.holds_state = lock(w, node, not w.option[0].skip_decode_lock)
    request.protected = w.nodes[node].end
    return kept


@compiled
def touch(w: World, n: int) -> None:
    """A walk that ends on a node: it and all above it become recent."""
    w.nodes[n].path_time = tick(w)


@compiled
def split_node(w: World, n: int, depth: int) -> int:
    """Splits a node; the lower half is newer now, so if it is a leaf it takes another place among them."""
    upper = split(w, n, depth)
    offer_leaf(w, n)
    return upper


@compiled
def lock(w: World, n: int, with_state: bool) -> bool:
    """Locks a node, and its state on demand; tells whether the state is held."""
    if n == ROOT:
        return False
    node = w.nodes[n]
    node.kv_locks += 1
    if not with_state or not (node.has_state or w.option[0].bare_node_locks):
        return False
    node.state_locks += 1
    return True


@compiled
def unlock(w: World, n: int, holds_state: bool) -> None:
    """Undoes a lock."""
    if n == ROOT:
        return
    w.nodes[n].kv_locks -= 1
    if holds_state:
        w.nodes[n].state_locks -= 1
    offer_leaf(w, n)
