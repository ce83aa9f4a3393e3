"""Lookups, inserts and locks over one tree and two pools (docs/replay.md, 2 and 4)."""

from __future__ import annotations

from poolsplit.replay.kernel.eviction import add_state, make_path_recent, make_state_recent
from poolsplit.replay.kernel.layout import ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaf
from poolsplit.replay.kernel.tokens import common_prefix, run_at
from poolsplit.replay.kernel.tree import LEVEL_BITS, add_leaf, find_child, split, tick


@compiled
def lookup(w: World, first_run: int, length: int) -> tuple[int, int, int]:
    """Longest reusable prefix of the first `length` tokens, made recent: node, its tokens, and tokens with KV."""
    best, matched, position, node, run = ROOT, 0, 0, ROOT, first_run
    limit = length // w.option[0].page * w.option[0].page
    if limit <= 0:
        return ROOT, 0, 0
    while position < limit:
        run = run_at(w, run, position)
        child = find_child(w, node, run, position)
        if child == ROOT:
            break
        shared = shared_tokens(w, child, run, position, limit)
        whole = shared == w.nodes[child].length
        node = child if whole else split_leaf(w, child, shared)
        position += shared
        if w.nodes[node].has_state:
            best, matched = node, position
        if not whole:
            break
    _make_recent(w, best)
    return best, matched, position


@compiled
def insert(w: World, r: int, length: int) -> tuple[int, int, bool]:
    """Puts a request's first `length` tokens into the tree, with a state at their end.

    The walk starts at the request's own node: what lies above is its prefix, and is only touched.

    Returns:
        The node, the tokens up to it, and whether the state was kept.
    """
    request, now = w.requests[r], w.now[0]
    end = length // w.option[0].page * w.option[0].page
    if end == 0:
        return ROOT, 0, False
    node, position, run = request.lock, request.protected, request.first_run
    _touch_path(w, node, position, request.counted)
    while position < end:
        run = run_at(w, run, position)
        child = find_child(w, node, run, position)
        if child == ROOT:
            break
        w.nodes[child].touched = tick(w)
        shared = shared_tokens(w, child, run, position, end)
        whole = shared == w.nodes[child].length
        node = child if whole else split_leaf(w, child, shared)
        position += shared
        now.kv_free += shared
        w.nodes[node].hits += position > request.counted
        if not whole:
            break
    if position == end:
        return node, end, _offer_state(w, node)
    leaf = add_leaf(w, node, run_at(w, run, position), position, end - position)
    w.nodes[leaf].hits += end > request.counted
    now.kv_evictable += end - position
    add_state(w, leaf, False)
    return leaf, end, True


@compiled
def lock(w: World, n: int, with_state: bool) -> bool:
    """Locks the KV of a node and its ancestors, and the state of that node alone; tells whether the state is held."""
    now = w.now[0]
    above = n
    while above != ROOT:
        held = w.nodes[above]
        if held.kv_locks == 0:
            now.kv_evictable -= held.length
            now.kv_protected += held.length
        held.kv_locks += 1
        above = held.parent
    node = w.nodes[n]
    if not with_state or n == ROOT or not (node.has_state or w.option[0].bare_node_locks):
        return False
    if node.state_locks == 0 and node.has_state:
        now.state_evictable -= 1
        now.state_protected += 1
    node.state_locks += 1
    return True


@compiled
def unlock(w: World, n: int, holds_state: bool) -> None:
    """Undoes a lock."""
    now = w.now[0]
    above = n
    while above != ROOT:
        held = w.nodes[above]
        held.kv_locks -= 1
        if held.kv_locks == 0:
            now.kv_evictable += held.length
            now.kv_protected -= held.length
        above = held.parent
    if holds_state:
        unlock_state(w, n)
    offer_leaf(w, n)


@compiled
def unlock_state(w: World, n: int) -> None:
    """Lets go of the state of a locked node and keeps its KV locked."""
    node, now = w.nodes[n], w.now[0]
    node.state_locks -= 1
    if node.state_locks == 0 and node.has_state:
        now.state_evictable += 1
        now.state_protected -= 1


@compiled
def split_leaf(w: World, n: int, length: int) -> int:
    """Splits a node; the lower half is newer now, so if it is a leaf it takes another place among them."""
    upper = split(w, n, length)
    offer_leaf(w, n)
    return upper


@compiled
def shared_tokens(w: World, n: int, run: int, position: int, limit: int) -> int:
    """Tokens of a node's span found at a position, in whole pages."""
    node, page = w.nodes[n], w.option[0].page
    wanted = min(node.length, limit - position)
    return common_prefix(w, (node.run, node.start), (run, position), wanted) // page * page


@compiled
def _make_recent(w: World, best: int) -> None:
    if w.option[0].refreshes_whole_path:
        make_path_recent(w, best)
    elif w.nodes[best].has_state:
        make_state_recent(w, best)
    time = tick(w)
    n = best
    while n != ROOT:
        w.nodes[n].touched = time
        time -= 1
        n = w.nodes[n].parent
    offer_leaf(w, best)


@compiled
def _touch_path(w: World, n: int, end: int, counted: int) -> None:
    """Touches a node and its ancestors as a walk from the root would, and counts the hit."""
    levels = 0
    above = n
    while above != ROOT:
        levels += 1
        above = w.nodes[above].parent
    now = w.now[0]
    now.ticks += levels
    time = now.ticks << LEVEL_BITS
    while n != ROOT:
        node = w.nodes[n]
        node.touched = time
        node.hits += end > counted
        time -= 1 << LEVEL_BITS
        end -= node.length
        n = node.parent


@compiled
def _offer_state(w: World, n: int) -> bool:
    """Gives an existing node a state, or refreshes the one it has; either way the node becomes recent."""
    if not w.nodes[n].has_state:
        add_state(w, n, True)
        return True
    make_state_recent(w, n)
    w.nodes[n].touched = tick(w)
    return False
