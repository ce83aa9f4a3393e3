"""States in order of use, and every way to leave the pools (docs/replay.md, 4 and 5)."""

from __future__ import annotations

from poolsplit.replay.kernel.journal import journal_leaf
from poolsplit.replay.kernel.layout import KEYS, NOTE_KV_EVICTED, NOTE_STATE_EVICTED, ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaf, oldest_leaf
from poolsplit.replay.kernel.tree import depth, is_evictable_leaf, last_token, remove_leaf, tick


@compiled
def make_state_recent(w: World, n: int) -> None:
    """Moves a node's state to the recent end."""
    _unlink_state(w, n)
    _link_state(w, n)


@compiled
def make_path_recent(w: World, n: int) -> None:
    """Moves every state of a path to the recent end, the deepest last."""
    newer = ROOT
    while n != ROOT:
        if w.nodes[n].has_state:
            _unlink_state(w, n)
            _link_state_below(w, n, newer)
            newer = n
        n = w.nodes[n].parent


@compiled
def add_state(w: World, n: int, touching: bool) -> None:
    """Hangs a state on a node, at the recent end, then holds the path to its cap."""
    node, now = w.nodes[n], w.now[0]
    node.has_state = True
    _link_state(w, n)
    if node.state_locks > 0:
        now.state_protected += 1
    else:
        now.state_evictable += 1
    if touching:
        node.touched = tick(w)
    if w.option[0].path_cap > 0:
        _hold_path(w, n)


@compiled
def free_kv_to(w: World, target: int) -> None:
    """Deletes evictable leaves, oldest first and whole, until `target` KV tokens are free."""
    while w.now[0].kv_free < target:
        leaf = oldest_leaf(w)
        if leaf == ROOT:
            return
        journal_leaf(w, NOTE_KV_EVICTED, leaf)
        _delete_leaf(w, leaf)


@compiled
def free_states_to(w: World, target: int) -> None:
    """Frees unlocked states, oldest first, until `target` slots are free; an evictable leaf goes whole."""
    now = w.now[0]
    n = w.nodes[ROOT].newer_state
    while now.state_free < target and n != ROOT:
        newer = w.nodes[n].newer_state
        if w.nodes[n].state_locks == 0:
            if is_evictable_leaf(w, n):
                journal_leaf(w, NOTE_STATE_EVICTED, n)
                _delete_leaf(w, n)
            else:
                _drop_state(w, n)
                now.states_evicted += 1
        n = newer


@compiled
def _delete_leaf(w: World, leaf: int) -> None:
    node, now = w.nodes[leaf], w.now[0]
    _note(w, leaf, 0)
    now.kv_free += node.length
    now.kv_evictable -= node.length
    now.kv_evicted += node.length
    if node.has_state:
        _drop_state(w, leaf)
        now.states_evicted += 1
    parent = node.parent
    remove_leaf(w, leaf)
    offer_leaf(w, parent)


@compiled
def _drop_state(w: World, n: int) -> None:
    now = w.now[0]
    _note(w, n, 1)
    _unlink_state(w, n)
    w.nodes[n].has_state = False
    now.state_evictable -= 1
    now.state_free += 1


@compiled
def _hold_path(w: World, tail: int) -> None:
    """Drops states from the shallowest down; tails, forks, locked nodes and leaves are spared."""
    holders = 0
    n = tail
    while n != ROOT:
        if w.nodes[n].has_state:
            w.scratch[KEYS, holders] = n
            holders += 1
        n = w.nodes[n].parent
    excess = holders - w.option[0].path_cap
    for i in range(holders - 1, 0, -1):
        if excess <= 0:
            return
        n = w.scratch[KEYS, i]
        if w.nodes[n].state_locks == 0 and w.nodes[n].children == 1:
            _drop_state(w, n)
            w.now[0].cap_states_evicted += 1
            excess -= 1


@compiled
def _link_state(w: World, n: int) -> None:
    _link_state_below(w, n, ROOT)


@compiled
def _link_state_below(w: World, n: int, newer: int) -> None:
    """Puts a state just behind a newer one; behind the sentinel it is the newest."""
    older = w.nodes[newer].older_state
    w.nodes[n].older_state, w.nodes[n].newer_state = older, newer
    w.nodes[older].newer_state = n
    w.nodes[newer].older_state = n


@compiled
def _unlink_state(w: World, n: int) -> None:
    older, newer = w.nodes[n].older_state, w.nodes[n].newer_state
    w.nodes[older].newer_state = newer
    w.nodes[newer].older_state = older


@compiled
def _note(w: World, n: int, is_state: int) -> None:
    if not w.option[0].notes_freed:
        return
    entry = w.freed[w.now[0].freed]
    entry.is_state, entry.depth = is_state, depth(w, n)
    entry.length, entry.last_token = w.nodes[n].length, last_token(w, n)
    w.now[0].freed += 1
