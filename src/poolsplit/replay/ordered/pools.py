"""Leaves by age, states in order of use, and every way to leave the pools (docs/replay.md, 4 and 5)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered.layout import OUT_OF_KV, OUT_OF_STATES, ROOT, World
from poolsplit.replay.ordered.tree import is_evictable_leaf, remove_leaf, time_of


@compiled
def take_kv(w: World, tokens: int, room: int) -> None:
    """Takes KV tokens after evicting until `room` of them are free; too few stop the replay."""
    now = w.now[0]
    free_kv_to(w, room)
    if tokens > now.kv_free:
        now.status = OUT_OF_KV
    now.kv_free -= tokens
    now.least_kv_free = min(now.least_kv_free, now.kv_free)


@compiled
def take_states(w: World, slots: int) -> None:
    """Takes free state slots; too few stop the replay."""
    now = w.now[0]
    if slots > now.state_free:
        now.status = OUT_OF_STATES
    now.state_free -= slots
    now.held_states += slots
    now.peak_held_states = max(now.peak_held_states, now.held_states)
    now.least_state_free = min(now.least_state_free, now.state_free)


@compiled
def give_states(w: World, slots: int) -> None:
    """Returns slots that a request held."""
    w.now[0].state_free += slots
    w.now[0].held_states -= slots


@compiled
def free_kv_to(w: World, target: int) -> None:
    """Deletes evictable leaves, oldest first and whole, until `target` KV tokens are free."""
    while w.now[0].kv_free < target:
        leaf = _oldest_leaf(w)
        if leaf == ROOT:
            return
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
                _delete_leaf(w, n)
            else:
                _drop_state(w, n)
                now.states_evicted += 1
        n = newer


@compiled
def add_state(w: World, n: int) -> None:
    """Hangs a held state on a node, at the recent end, then holds the path to its cap."""
    w.nodes[n].has_state = True
    w.now[0].held_states -= 1
    _link_state(w, n)
    if w.option[0].path_cap > 0:
        _hold_path(w, n)


@compiled
def make_state_recent(w: World, n: int) -> None:
    """Moves a node's state to the recent end."""
    _unlink_state(w, n)
    _link_state(w, n)


@compiled
def offer_leaf(w: World, n: int) -> None:
    """Puts a node on the heap if it is an evictable leaf and not there with this time already."""
    if not is_evictable_leaf(w, n):
        return
    node = w.nodes[n]
    time = time_of(w, n)
    if node.queued == time:
        return
    now = w.now[0]
    if now.leaves == w.leaves.size:
        _drop_stale(w)
    node.queued = time
    at = now.leaves
    now.leaves += 1
    while at > 0 and w.leaves[(at - 1) // 2].time > time:
        _copy(w, (at - 1) // 2, at)
        at = (at - 1) // 2
    w.leaves[at].time, w.leaves[at].node = time, n


@compiled
def _oldest_leaf(w: World) -> int:
    now = w.now[0]
    while now.leaves > 0:
        time, n = w.leaves[0].time, w.leaves[0].node
        now.leaves -= 1
        _sink(w, 0, w.leaves[now.leaves].time, w.leaves[now.leaves].node)
        node = w.nodes[n]
        if node.queued != time:
            continue
        node.queued = 0
        if is_evictable_leaf(w, n) and time_of(w, n) == time:
            return n  # type: ignore[no-any-return]
    return ROOT


@compiled
def _sink(w: World, at: int, time: int, n: int) -> None:
    count = w.now[0].leaves
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and w.leaves[child + 1].time < w.leaves[child].time:
            child += 1
        if w.leaves[child].time >= time:
            break
        _copy(w, child, at)
        at = child
    w.leaves[at].time, w.leaves[at].node = time, n


@compiled
def _drop_stale(w: World) -> None:
    now = w.now[0]
    kept = 0
    for i in range(now.leaves):
        if w.nodes[w.leaves[i].node].queued == w.leaves[i].time:
            _copy(w, i, kept)
            kept += 1
    now.leaves = kept
    for i in range(kept // 2, -1, -1):
        if i < kept:
            _sink(w, i, w.leaves[i].time, w.leaves[i].node)


@compiled
def _copy(w: World, source: int, target: int) -> None:
    w.leaves[target].time, w.leaves[target].node = w.leaves[source].time, w.leaves[source].node


@compiled
def _delete_leaf(w: World, leaf: int) -> None:
    node, now = w.nodes[leaf], w.now[0]
    now.kv_free += node.end - node.start
    now.kv_evicted += node.end - node.start
    if node.has_state:
        _drop_state(w, leaf)
        now.states_evicted += 1
    parent = node.parent
    remove_leaf(w, leaf)
    offer_leaf(w, parent)


@compiled
def _drop_state(w: World, n: int) -> None:
    _unlink_state(w, n)
    w.nodes[n].has_state = False
    w.now[0].state_free += 1


@compiled
def _hold_path(w: World, tail: int) -> None:
    """Drops states from the shallowest down; tails, forks, locked nodes and leaves are spared."""
    excess = -w.option[0].path_cap
    n = tail
    while n != ROOT:
        excess += w.nodes[n].has_state
        n = w.nodes[n].parent
    while excess > 0:
        shallowest = ROOT
        n = w.nodes[tail].parent
        while n != ROOT:
            node = w.nodes[n]
            if node.has_state and node.state_locks == 0 and node.children == 1:
                shallowest = n
            n = node.parent
        if shallowest == ROOT:
            return
        _drop_state(w, shallowest)
        w.now[0].cap_states_evicted += 1
        excess -= 1


@compiled
def _link_state(w: World, n: int) -> None:
    newest = w.nodes[ROOT].older_state
    w.nodes[n].older_state, w.nodes[n].newer_state = newest, ROOT
    w.nodes[newest].newer_state = n
    w.nodes[ROOT].older_state = n
    w.now[0].state_ticks += 1
    w.nodes[n].state_tick = w.now[0].state_ticks


@compiled
def _unlink_state(w: World, n: int) -> None:
    older, newer = w.nodes[n].older_state, w.nodes[n].newer_state
    w.nodes[older].newer_state = newer
    w.nodes[newer].older_state = older
