"""What a running request holds in both pools, and how it gives it back (docs/replay.md, 3, 4 and 6)."""

from __future__ import annotations

from poolsplit.replay import arithmetic
from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.cache import insert, lookup
from poolsplit.replay.kernel.eviction import free_kv_to, free_states_to
from poolsplit.replay.kernel.journal import write_journal
from poolsplit.replay.kernel.layout import ENDED, NOTE_INSERT, ROOT, World, compiled
from poolsplit.replay.kernel.locks import lock, unlock, unlock_state
from poolsplit.replay.kernel.pools import kv_available, states_available, take_kv, take_states

branching_position = compiled(arithmetic.branching_position)
donated_position = compiled(arithmetic.donated_position)
inserted_position = compiled(arithmetic.inserted_position)
kept_snapshot = compiled(arithmetic.kept_snapshot)
owned_tokens = compiled(arithmetic.owned_tokens)
pages_up = compiled(arithmetic.pages_up)
prefill_snapshot = compiled(arithmetic.prefill_snapshot)


@compiled
def match(w: World, r: int) -> None:
    """Looks a request up before admission and takes the slot that its matched state is copied to."""
    request = w.requests[r]
    node, matched, kv_matched, found, host_hit = lookup(w, request.first_run, request.prompt + request.outputs - 1)
    request.match, request.branch = node, branching_position(kv_matched, matched + host_hit, w.option[0].grid)
    request.found, request.host_hit = found, host_hit
    request.prefix = request.protected = matched
    request.kv_matched = kv_matched
    if found == ROOT or not w.nodes[found].has_state:
        return
    request.holds_slot = True
    if w.now[0].aside > 0:
        w.now[0].aside -= 1
        return
    if states_available(w) < 1:
        held = lock(w, found, True)
        free_states_to(w, 1)
        unlock(w, found, held)
    take_states(w, 1)


@compiled
def give_slot_back(w: World, r: int) -> None:
    """A refused request returns its copy target; what was evicted for it stays evicted."""
    w.now[0].state_free += w.requests[r].holds_slot
    w.requests[r].holds_slot = False


@compiled
def take_for_prefill(w: World) -> None:
    """Takes slots, then KV, for the chosen requests, and decides where each chunk's snapshot lies."""
    option, now = w.option[0], w.now[0]
    rows, page = w.rows[1 - now.launched_side], option.page
    slots = tokens = 0
    for i in range(now.chosen):
        request = w.requests[rows[i].request]
        tokens += request.chunk_end - request.prefix
        if request.prefill_batches == 0:
            slots += option.tracking_slots + (not request.holds_slot)
            request.holds_slot, request.tracking = True, option.tracking_slots
    free_states_to(w, slots)
    take_states(w, slots)
    now.prefill_tokens = tokens
    free_kv_to(w, tokens + (page * now.chosen if page > 1 else 0))
    for i in range(now.chosen):
        request = w.requests[rows[i].request]
        take_kv(w, pages_up(request.chunk_end, page) - pages_up(request.prefix, page))
        request.committed = request.chunk_end
        request.prefill_batches += 1
        if option.tracks:
            _track_chunk(w, rows[i].request)


@compiled
def decode_fits(w: World, count: int) -> bool:
    """Evicts for the next decode step of the first `count` running requests; tells whether its new pages are there."""
    need = _new_pages(w, count) * w.option[0].page
    free_kv_to(w, need)
    return kv_available(w) >= need


@compiled
def take_for_decode(w: World) -> None:
    """Takes KV for one decode step of all running requests."""
    option, now = w.option[0], w.now[0]
    if option.page > 1:
        free_kv_to(w, option.page * now.running)
    take_kv(w, _new_pages(w, now.running) * option.page)
    for i in range(now.running):
        w.requests[w.running[i]].committed += 1


@compiled
def snapshot_position(w: World, r: int) -> int:
    """The request's length if the decode step just built writes a snapshot there; a lazy one takes its second slot."""
    request, option = w.requests[r], w.option[0]
    if not option.tracks or request.committed % option.track_grid != 0:
        return NONE
    if option.lazy:
        _take_second_slot(w, r)
    return request.committed


@compiled
def return_second_slot(w: World, r: int) -> None:
    """A lazy request gives up the tracking slot it no longer needs."""
    if w.option[0].lazy and w.requests[r].tracking > 1:
        w.requests[r].tracking -= 1
        w.now[0].state_free += 1


@compiled
def snapshot_done(w: World, r: int, position: int) -> None:
    """The result of a step that wrote a snapshot is in."""
    request = w.requests[r]
    request.previous = NONE if w.option[0].lazy else request.last
    request.last = position
    return_second_slot(w, r)


@compiled
def checkpoint(w: World, r: int) -> None:
    """Puts what a prefill chunk computed into the tree, up to its snapshot, and hands the lock over."""
    request, option = w.requests[r], w.option[0]
    offered = request.last if option.tracks else request.chunk_end
    position = inserted_position(offered, request.branch, option.tracks, option.sparse)
    if position != NONE:
        _take_replacement_slot(w, r)
        if not _insert(w, r, position):
            w.now[0].state_free += 1
    if position != NONE or not option.sparse:
        request.last = request.previous = NONE
    request.prefix = request.chunk_end


@compiled
def finish(w: World, r: int) -> None:
    """A finished request gives its last usable snapshot to the tree and everything else back."""
    request, option = w.requests[r], w.option[0]
    owned = owned_tokens(request.committed, request.prompt, request.outputs, request.max_new)
    position = owned
    if option.tracks:
        position = donated_position(request.last, request.previous, owned, option.tracking_slots)
    if position != NONE and _insert(w, r, position):
        w.now[0].state_free -= 1
    release(w, r)


@compiled
def release(w: World, r: int) -> None:
    """Returns private KV, the lock and all slots."""
    request, now = w.requests[r], w.now[0]
    now.kv_free += pages_up(request.committed, w.option[0].page) - request.protected
    unlock(w, request.lock, request.holds_state)
    request.lock, request.holds_state = ROOT, False
    now.state_free += request.tracking + request.holds_slot
    request.tracking, request.holds_slot = 0, False


@compiled
def note_end(w: World, r: int) -> None:
    """Remembers a request that ended or was aborted in this iteration."""
    now = w.now[0]
    w.scratch[ENDED, now.ended] = r
    now.ended += 1


@compiled
def _new_pages(w: World, count: int) -> int:
    page, pages = w.option[0].page, 0
    if page == 1:
        return count
    for i in range(count):
        pages += w.requests[w.running[i]].committed % page == 0
    return pages


@compiled
def _track_chunk(w: World, r: int) -> None:
    request, option = w.requests[r], w.option[0]
    position = prefill_snapshot(
        request.prefix, request.chunk_end, request.branch, option.grid, option.step, option.kernel_chunk
    )
    ends_prompt = request.chunk_end == request.prompt + request.outputs
    kept = kept_snapshot(position, request.branch, ends_prompt, option.sparse)
    if kept != NONE:
        request.last = kept


@compiled
def _take_second_slot(w: World, r: int) -> None:
    """Nothing is evicted for it; without it the snapshot overwrites the last one, which is forgotten at once."""
    if states_available(w) > 0:
        take_states(w, 1)
        w.requests[r].tracking += 1
    else:
        w.requests[r].last = NONE


@compiled
def _take_replacement_slot(w: World, r: int) -> None:
    request, option = w.requests[r], w.option[0]
    if states_available(w) < 1:
        if option.lazy and option.lazy_lock_release and request.holds_state:
            unlock_state(w, request.lock)
            request.holds_state = False
        free_states_to(w, 1)
    take_states(w, 1)


@compiled
def _insert(w: World, r: int, position: int) -> bool:
    request = w.requests[r]
    node, length, kept = insert(w, r, position)
    request.counted = max(request.counted, length)
    write_journal(w, NOTE_INSERT, r, length)
    unlock(w, request.lock, request.holds_state)
    request.lock = node
    request.holds_state = lock(w, node, not w.option[0].skip_decode_lock)
    request.protected = length
    return kept
