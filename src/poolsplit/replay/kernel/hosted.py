"""The host's copies of KV and states, and who leaves them when there is no room (docs/replay.md, 10)."""

from __future__ import annotations

from poolsplit.replay.kernel.host_lists import drop_double, drop_host_state, keep_double, keep_host_state
from poolsplit.replay.kernel.journal import journal_leaf
from poolsplit.replay.kernel.layout import NOTE_KV_EVICTED, NOTE_STATE_EVICTED, ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaf, oldest_host_leaf
from poolsplit.replay.kernel.tree import depth, is_evictable_leaf, is_host_leaf, remove_leaf


@compiled
def store(w: World, n: int) -> bool:
    """Copies what of a node the host does not have; without room for all of it nothing is copied."""
    node, hosted, now = w.nodes[n], w.hosted[n], w.now[0]
    tokens = 0 if hosted.on_host else node.length
    if not _make_kv_room(w, tokens):
        return False
    now.host_kv_free -= tokens
    if node.has_state and not hosted.has_state:
        if not make_state_room(w):
            now.host_kv_free += tokens
            return False
        now.host_state_free -= 1
        now.copied_states += 1
        hosted.has_state = True
    hosted.on_host = True
    now.copied_tokens += tokens
    now.least_host_kv_free = min(now.least_host_kv_free, now.host_kv_free)
    now.least_host_state_free = min(now.least_host_state_free, now.host_state_free)
    if w.option[0].writes_back:
        note_double(w, n)
    return True


@compiled
def make_state_room(w: World) -> bool:
    """Frees one state slot if none is free; tells whether one is."""
    if w.now[0].host_state_free < 1:
        _free_state(w)
    return w.now[0].host_state_free > 0


@compiled
def add_host_state(w: World, n: int) -> None:
    """A state's device copy is gone: the host's takes its place among those that may leave."""
    if w.hosted[n].state_pins == 0:
        keep_host_state(w, n)


@compiled
def pin(w: World, n: int) -> None:
    """Keeps a node's copies while they are read."""
    hosted = w.hosted[n]
    hosted.kv_pins += hosted.on_host or w.option[0].writes_back
    hosted.state_pins += 1
    drop_host_state(w, n)


@compiled
def unpin(w: World, n: int, segment_start: int) -> None:
    """Lets go of a node's copies, and of the KV of what a split has cut off it since."""
    hosted = w.hosted[n]
    hosted.state_pins -= 1
    if hosted.has_state and not w.nodes[n].has_state:
        add_host_state(w, n)
    above, end = n, depth(w, n)
    while above != ROOT and w.hosted[above].kv_pins > 0:
        w.hosted[above].kv_pins -= 1
        end -= w.nodes[above].length
        if end == segment_start:
            break
        above = w.nodes[above].parent
    offer_leaf(w, n)


@compiled
def note_double(w: World, n: int) -> None:
    """Remembers whether a node has KV on both tiers and no copy under way."""
    hosted = w.hosted[n]
    if hosted.on_host and not (hosted.off_device or is_copying(w, n) or hosted.loading != ROOT):
        keep_double(w, n)
    else:
        drop_double(w, n)


@compiled
def is_copying(w: World, n: int) -> bool:
    """A copy of the node to the host was begun in this iteration."""
    return w.hosted[n].copied_in == w.now[0].settled


@compiled
def forget(w: World, n: int) -> None:
    """Frees both copies of a node that leaves the tree."""
    hosted = w.hosted[n]
    if hosted.on_host:
        hosted.on_host = False
        w.now[0].host_kv_free += w.nodes[n].length
    _forget_state(w, n)
    drop_double(w, n)


@compiled
def forget_below(w: World, n: int, why: int) -> None:
    """Drops everything below a node that cannot be copied; all of it is on the host alone."""
    while w.nodes[n].children > 0:
        leaf = w.nodes[n].first_child
        while w.nodes[leaf].children > 0:
            leaf = w.nodes[leaf].first_child
        _remove(w, leaf, why)


@compiled
def _make_kv_room(w: World, tokens: int) -> bool:
    now = w.now[0]
    if now.host_kv_free >= tokens:
        return True
    if w.option[0].writes_back:
        _free_doubles(w, tokens, True)
        _free_doubles(w, tokens, False)
    while now.host_kv_free < tokens:
        leaf = oldest_host_leaf(w)
        if leaf == ROOT:
            return False
        _remove(w, leaf, NOTE_KV_EVICTED)
    return True


@compiled
def _free_doubles(w: World, target: int, spares_leaves: bool) -> None:
    """Frees host copies of KV that the device has, too; leaves that the device may soon evict come last."""
    now = w.now[0]
    n = w.hosted[ROOT].newer_double
    while n != ROOT and now.host_kv_free < target:
        newer, hosted = w.hosted[n].newer_double, w.hosted[n]
        if hosted.off_device or not hosted.on_host:
            drop_double(w, n)
        elif not (hosted.kv_pins > 0 or hosted.loading != ROOT or (spares_leaves and is_evictable_leaf(w, n))):
            hosted.on_host = False
            now.host_kv_free += w.nodes[n].length
            drop_double(w, n)
        n = newer


@compiled
def _free_state(w: World) -> None:
    """Frees the least recent state that is on the host alone; a host leaf goes whole."""
    n = w.hosted[ROOT].newer_state
    if n == ROOT:
        return
    if is_host_leaf(w, n):
        _remove(w, n, NOTE_STATE_EVICTED)
    else:
        _forget_state(w, n)


@compiled
def _forget_state(w: World, n: int) -> None:
    drop_host_state(w, n)
    if w.hosted[n].has_state:
        w.hosted[n].has_state = False
        w.now[0].host_state_free += 1


@compiled
def _remove(w: World, leaf: int, why: int) -> None:
    parent = w.nodes[leaf].parent
    journal_leaf(w, why, leaf)
    forget(w, leaf)
    remove_leaf(w, leaf)
    offer_leaf(w, parent)
