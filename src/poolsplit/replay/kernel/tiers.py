"""What moves between device and host: copies after an insert, and the load of a match (docs/replay.md, 10)."""

from __future__ import annotations

from poolsplit.replay.kernel.eviction import free_kv_to, free_states_to
from poolsplit.replay.kernel.host_lists import drop_host_state
from poolsplit.replay.kernel.hosted import is_copying, note_double, pin, store, unpin
from poolsplit.replay.kernel.layout import KEYS, LISTED, ROOT, World, compiled
from poolsplit.replay.kernel.locks import lock, unlock
from poolsplit.replay.kernel.pools import kv_available, states_available, take_states
from poolsplit.replay.kernel.states import hang_state
from poolsplit.replay.kernel.tree import depth

LEAST_KV_LOAD = 10
"""Fewer KV tokens are not worth a load, unless a state comes with them."""
NO_SEGMENT = -1
"""What is under way is a copy, which pins nothing."""


@compiled
def settle(w: World) -> None:
    """What was begun in the iteration before is done: nodes are let go."""
    now = w.now[0]
    now.settled += 1
    for i in range(now.under_way):
        work = w.under_way[i]
        unlock(w, work.node, work.holds_state)
        if work.segment_start != NO_SEGMENT:
            unpin(w, work.node, work.segment_start)
            _end_load(w, work.node)
    now.under_way = 0


@compiled
def split_hosted(w: World, upper: int, lower: int) -> None:
    """A node was cut in two: both halves are where it was, and what is under way concerns both."""
    one, other = w.hosted[upper], w.hosted[lower]
    one.off_device, one.on_host, one.kv_pins = other.off_device, other.on_host, other.kv_pins
    one.copied_in, one.loading = other.copied_in, other.loading
    one.device_children = 0 if other.off_device else 1
    note_double(w, upper)


@compiled
def met(w: World, n: int) -> None:
    """An insert has counted a node: it is copied once it was met often enough."""
    option = w.option[0]
    if not (option.writes_back or w.hosted[n].on_host) and w.nodes[n].hits >= option.hits_before_copy:
        _copy_path(w, n)


@compiled
def met_path(w: World, n: int, end: int, counted: int) -> None:
    """The same for a node at `end` and its ancestors, from the root down."""
    count = 0
    while n != ROOT and end > counted:
        w.scratch[KEYS, count] = n
        count += 1
        end -= w.nodes[n].length
        n = w.nodes[n].parent
    for i in range(count - 1, -1, -1):
        met(w, w.scratch[KEYS, i])


@compiled
def ended(w: World, n: int) -> None:
    """An insert has ended on a node that was there: a state that the host lacks follows the KV it has."""
    hosted = w.hosted[n]
    lacks_state = w.nodes[n].has_state and not hosted.has_state
    if hosted.on_host and lacks_state and not (w.option[0].writes_back or is_copying(w, n)):
        _copy_path(w, n)


@compiled
def put_on_device(w: World, n: int) -> None:
    """KV that only the host had is on the device again."""
    node, now = w.nodes[n], w.now[0]
    w.hosted[n].off_device = False
    w.hosted[node.parent].device_children += 1
    if node.kv_locks > 0:
        now.kv_protected += node.length
    else:
        now.kv_evictable += node.length


@compiled
def load(w: World, r: int) -> int:
    """Brings a match that lies on the host back to the device; gives the tokens gained, or none if it fails."""
    request = w.requests[r]
    found = request.found
    held = lock(w, found, True)
    end = depth(w, found)
    start = end - w.nodes[found].length
    pin(w, found)
    done = _load(w, r, start)
    unpin(w, found, start)
    unlock(w, found, held)
    if not done:
        return 0
    request.match = found
    return end - request.prefix


@compiled
def _load(w: World, r: int, segment_start: int) -> bool:
    request, now = w.requests[r], w.now[0]
    n = request.found
    pin(w, n)
    held = lock(w, n, True)
    lends_slot = not request.holds_slot and w.hosted[n].has_state and not w.nodes[n].has_state
    if lends_slot:
        free_states_to(w, 1)
        take_states(w, 1)
        request.holds_slot = True
    done = _bring(w, n)
    unlock(w, n, held)
    if not done:
        unpin(w, n, segment_start)
        if lends_slot:
            now.state_free += 1
            request.holds_slot = False
        return False
    _begin(w, n, segment_start)
    return True


@compiled
def _bring(w: World, n: int) -> bool:
    """Finds room on the device for what is on the host alone, and puts it there."""
    hosted, now = w.hosted[n], w.now[0]
    tokens, top = 0, n
    while top != ROOT and w.hosted[top].off_device:
        tokens += w.nodes[top].length
        top = w.nodes[top].parent
    wants_state = hosted.has_state and not w.nodes[n].has_state
    others = hosted.loading not in (ROOT, n)
    if (wants_state and others) or not (wants_state or tokens >= LEAST_KV_LOAD):
        return False
    free_kv_to(w, tokens)
    if kv_available(w) < tokens:
        return False
    if wants_state:
        free_states_to(w, 1)
        if states_available(w) < 1:
            return False
    now.kv_free -= tokens
    now.loaded_tokens += tokens
    part = n
    while part != top:
        put_on_device(w, part)
        w.hosted[part].loading = n if w.option[0].writes_back else ROOT
        part = w.nodes[part].parent
    if wants_state:
        now.state_free -= 1
        now.loaded_states += 1
        drop_host_state(w, n)
        hang_state(w, n)
    return True


@compiled
def _end_load(w: World, anchor: int) -> None:
    n = anchor
    while n != ROOT:
        if w.hosted[n].loading == anchor:
            w.hosted[n].loading = ROOT
            note_double(w, n)
        n = w.nodes[n].parent


@compiled
def _begin(w: World, n: int, segment_start: int) -> None:
    """Holds a node until the next iteration."""
    now = w.now[0]
    work = w.under_way[now.under_way]
    work.node, work.segment_start = n, segment_start
    work.holds_state = lock(w, n, True)
    now.under_way += 1


@compiled
def _copy_path(w: World, n: int) -> None:
    """Copies a node after its ancestors that the host lacks, until one finds no room."""
    count, above = 1, w.nodes[n].parent
    w.scratch[LISTED, 0] = n
    while above != ROOT and not w.hosted[above].on_host:
        w.scratch[LISTED, count] = above
        count += 1
        above = w.nodes[above].parent
    for i in range(count - 1, -1, -1):
        part = w.scratch[LISTED, i]
        hosted = w.hosted[part]
        if hosted.on_host and (hosted.has_state or not w.nodes[part].has_state):
            continue
        if not store(w, part):
            return
        _begin(w, part, NO_SEGMENT)
        hosted.copied_in = w.now[0].settled
