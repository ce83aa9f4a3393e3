"""Every way to leave the pools of the device (docs/replay.md, 4, 5 and 10)."""

from __future__ import annotations

from poolsplit.replay.kernel.host_lists import drop_host_state
from poolsplit.replay.kernel.hosted import add_host_state, forget, forget_below, make_state_room, store
from poolsplit.replay.kernel.journal import journal_leaf
from poolsplit.replay.kernel.layout import KEYS, NOTE_KV_EVICTED, NOTE_STATE_EVICTED, ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaf, oldest_leaf
from poolsplit.replay.kernel.pools import kv_available, states_available
from poolsplit.replay.kernel.states import hang_state, unlink_state
from poolsplit.replay.kernel.tree import depth, is_evictable_leaf, last_token, remove_leaf, tick

MANY = 1 << 60
"""No bound on what is evicted."""


@compiled
def add_state(w: World, n: int, touching: bool) -> None:
    """Hangs a state on a node, at the recent end, then holds the path to its cap."""
    hang_state(w, n)
    if w.option[0].host:
        drop_host_state(w, n)
    if touching:
        w.nodes[n].touched = tick(w)
    if w.option[0].path_cap > 0:
        _hold_path(w, n)


@compiled
def free_kv_to(w: World, target: int) -> None:
    """Deletes evictable leaves, oldest first and whole, until `target` KV tokens are free."""
    while kv_available(w) < target:
        leaf = oldest_leaf(w)
        if leaf == ROOT:
            return
        _evict_leaf(w, leaf, NOTE_KV_EVICTED)


@compiled
def free_states_to(w: World, target: int) -> None:
    """Frees states until `target` slots are free; under unified memory cached KV gives its bytes for them first."""
    now = w.now[0]
    if not w.option[0].unified:
        _evict_states(w, target, MANY)
        return
    unnamed = target - now.state_free
    if unnamed > 0:
        _evict_states(w, target, unnamed)
    if now.state_free < target:
        return
    while states_available(w) < target:
        leaf = oldest_leaf(w)
        if leaf == ROOT:
            break
        _evict_leaf(w, leaf, NOTE_STATE_EVICTED)
    _evict_states(w, target, MANY)


@compiled
def _evict_states(w: World, target: int, most: int) -> None:
    """Frees unlocked states, oldest first, until `target` are free or `most` were; an evictable leaf goes whole."""
    now = w.now[0]
    n, before = w.nodes[ROOT].newer_state, now.states_evicted
    while states_available(w) < target and now.states_evicted - before < most and n != ROOT:
        newer = w.nodes[n].newer_state
        if w.nodes[n].state_locks == 0:
            if is_evictable_leaf(w, n):
                _evict_leaf(w, n, NOTE_STATE_EVICTED)
            else:
                if w.option[0].writes_back:
                    _save_state(w, n)
                _drop_state(w, n)
                now.states_evicted += 1
        n = newer


@compiled
def _evict_leaf(w: World, leaf: int, why: int) -> None:
    """A leaf leaves the device; it stays in the tree if the host has, or gets, a copy of its KV."""
    host, parent = w.option[0].host, w.nodes[leaf].parent
    if host and (w.hosted[leaf].on_host or (w.option[0].writes_back and store(w, leaf))):
        _take_off_device(w, leaf)
        w.hosted[leaf].off_device = True
        w.hosted[parent].device_children -= 1
        offer_leaf(w, leaf)
    else:
        if host:
            forget_below(w, leaf, why)
        journal_leaf(w, why, leaf)
        _take_off_device(w, leaf)
        if host:
            forget(w, leaf)
        remove_leaf(w, leaf)
    offer_leaf(w, parent)


@compiled
def _save_state(w: World, n: int) -> None:
    """With write-back, a state inside the tree takes its node's KV along to the host before it is dropped."""
    if not (w.hosted[n].has_state or w.hosted[n].on_host):
        make_state_room(w)
        store(w, n)


@compiled
def _take_off_device(w: World, leaf: int) -> None:
    node, now = w.nodes[leaf], w.now[0]
    _note(w, leaf, 0)
    now.kv_free += node.length
    now.kv_evictable -= node.length
    now.kv_evicted += node.length
    if node.has_state:
        _drop_state(w, leaf)
        now.states_evicted += 1


@compiled
def _drop_state(w: World, n: int) -> None:
    now = w.now[0]
    _note(w, n, 1)
    unlink_state(w, n)
    w.nodes[n].has_state = False
    now.state_evictable -= 1
    now.state_free += 1
    if w.option[0].host and w.hosted[n].has_state:
        add_host_state(w, n)


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
        if w.nodes[n].state_locks == 0 and w.nodes[n].children == 1 and not is_evictable_leaf(w, n):
            _drop_state(w, n)
            w.now[0].cap_states_evicted += 1
            excess -= 1


@compiled
def _note(w: World, n: int, is_state: int) -> None:
    if not w.option[0].notes_freed:
        return
    entry = w.freed[w.now[0].freed]
    entry.is_state, entry.depth = is_state, depth(w, n)
    entry.length, entry.last_token = w.nodes[n].length, last_token(w, n)
    w.now[0].freed += 1
