"""Lookups and inserts over one tree and two pools (docs/replay.md, 2, 4 and 10)."""

from __future__ import annotations

from poolsplit.replay.kernel.eviction import add_state
from poolsplit.replay.kernel.hosted import note_double
from poolsplit.replay.kernel.layout import ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaf, offer_leaves_up
from poolsplit.replay.kernel.states import make_path_recent, make_state_recent
from poolsplit.replay.kernel.tiers import ended, met, met_path, put_on_device, split_hosted
from poolsplit.replay.kernel.tokens import common_prefix, run_at
from poolsplit.replay.kernel.tree import LEVEL_BITS, add_leaf, find_child, split, tick


@compiled
def lookup(w: World, first_run: int, length: int) -> tuple[int, int, int, int, int]:
    """Longest reusable prefix of the first `length` tokens, made recent.

    Returns:
        The node that it ends on on the device, its tokens, tokens with KV, and with a host tier the node that it ends
        on on either and the tokens that the host adds.
    """
    best, found, matched, position, node, run = ROOT, ROOT, 0, 0, ROOT, first_run
    host = w.option[0].host
    limit = length // w.option[0].page * w.option[0].page
    if limit <= 0:
        return ROOT, 0, 0, ROOT, 0
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
            best, found, matched = node, node, position
        elif host and w.hosted[node].has_state:
            found = node
        if not whole:
            break
    _make_recent(w, found)
    return best, matched, position, found, _host_tokens(w, found, best) if found != best else 0


@compiled
def insert(w: World, r: int, length: int) -> tuple[int, int, bool]:
    """Puts a request's first `length` tokens into the tree, with a state at their end.

    The walk starts at the request's own node: what lies above is its prefix, and is only touched.

    Returns:
        The node, the tokens up to it, and whether the state was kept.
    """
    request, host = w.requests[r], w.option[0].host
    end = length // w.option[0].page * w.option[0].page
    if end == 0:
        return ROOT, 0, False
    _touch_path(w, request.lock, request.protected, request.counted)
    if host:
        met_path(w, request.lock, request.protected, request.counted)
    node, position, run = _walk(w, r, end)
    if position == end:
        kept = _offer_state(w, node)
        if host:
            ended(w, node)
        return node, end, kept
    leaf = add_leaf(w, node, run_at(w, run, position), position, end - position)
    w.now[0].kv_evictable += end - position
    add_state(w, leaf, False)
    _count(w, leaf, end > request.counted)
    return leaf, end, True


@compiled
def _walk(w: World, r: int, end: int) -> tuple[int, int, int]:
    """Follows existing nodes from a request's own on: its copy of their KV is freed, or brings KV back to the device.

    Returns:
        Where the walk ended: the node, its position, and a run before it.
    """
    request, now, host = w.requests[r], w.now[0], w.option[0].host
    node, position, run = request.lock, request.protected, request.first_run
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
        if host and w.hosted[node].off_device:
            put_on_device(w, node)
            note_double(w, node)
        else:
            now.kv_free += shared
        _count(w, node, position > request.counted)
        if not whole:
            break
    return node, position, run


@compiled
def split_leaf(w: World, n: int, length: int) -> int:
    """Splits a node; the lower half is newer now, so if it is a leaf it takes another place among them."""
    upper = split(w, n, length)
    if w.option[0].host:
        split_hosted(w, upper, n)
    offer_leaf(w, n)
    return upper


@compiled
def shared_tokens(w: World, n: int, run: int, position: int, limit: int) -> int:
    """Tokens of a node's span found at a position, in whole pages."""
    node, page = w.nodes[n], w.option[0].page
    wanted = min(node.length, limit - position)
    return common_prefix(w, (node.run, node.start), (run, position), wanted) // page * page


@compiled
def _host_tokens(w: World, found: int, best: int) -> int:
    """Tokens that the host holds from one node of a path down to another."""
    tokens = 0
    while found != best:
        if w.hosted[found].on_host:
            tokens += w.nodes[found].length
        found = w.nodes[found].parent
    return tokens


@compiled
def _count(w: World, n: int, is_new: bool) -> None:
    """An insert counts a node that ends beyond what its request counted before."""
    if not is_new or w.option[0].writes_back:
        return
    w.nodes[n].hits += 1
    if w.option[0].host:
        met(w, n)


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
    offer_leaves_up(w, best)


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
        node.hits += end > counted and not w.option[0].writes_back
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
