"""One prefill pass: which requests are let in, and how much of each (docs/replay.md, 6 and 7)."""

from __future__ import annotations

from poolsplit.replay import arithmetic
from poolsplit.replay.kernel.holdings import give_slot_back, match, pages_up
from poolsplit.replay.kernel.layout import LAST_CHUNK, MIDDLE_CHUNK, World, compiled
from poolsplit.replay.kernel.locks import lock, unlock
from poolsplit.replay.kernel.pools import kv_available, states_available
from poolsplit.replay.kernel.tiers import load

first_chunk = compiled(arithmetic.first_chunk)
next_chunk = compiled(arithmetic.next_chunk)
output_to_come = compiled(arithmetic.output_to_come)

NOBODY = -1
OPEN, NO_ROOM, SPENT = 0, 1, 2


@compiled
def begin_pass(w: World) -> None:
    """The budgets of one pass; the outputs of running requests are promised in their order."""
    option, now = w.option[0], w.now[0]
    riding = now.running if option.mixed else 0
    now.chosen, now.cut = 0, NOBODY
    now.input_left = option.max_prefill_tokens - riding
    now.chunk_left = option.chunk_tokens - riding
    now.promised_now = riding
    promised = 0.0
    for i in range(now.running):
        request = w.requests[w.running[i]]
        share = 1.0 if request.ignores_stop else now.ratio
        promised += output_to_come(request.max_new, request.outputs, option.decode_clip) * share
    now.promised = riding + promised
    now.slots_left = states_available(w) + now.state_evictable


@compiled
def continue_chunked(w: World, r: int) -> None:
    """Gives the chunked request its next chunk; it is never refused."""
    request, now = w.requests[r], w.now[0]
    uncached = request.prompt + request.outputs - request.prefix
    _choose(w, r, next_chunk(uncached, now.chunk_left, _room(w)))


@compiled
def admit(w: World) -> None:
    """Takes requests from the head of the queue until one is refused, a budget is spent or the cap is met."""
    now, cap = w.now[0], w.option[0].running_cap
    while now.waiting_head < now.waiting_tail:
        if _verdict(w) == SPENT:
            return
        if now.chosen >= cap - now.running:
            now.full = True
            now.cap_waits += 1
        if now.full:
            return
        r = w.waiting[now.waiting_head]
        match(w, r)
        admitted, verdict = _consider(w, r)
        now.waiting_head += admitted
        if verdict == OPEN:
            continue
        now.room_waits += verdict == NO_ROOM
        if verdict == NO_ROOM:
            now.full = now.chosen > 0 or now.running > 0
        if not admitted:
            give_slot_back(w, r)
        return


@compiled
def _consider(w: World, r: int) -> tuple[bool, int]:
    """Admits a request if its need fits the room, its matched prefix held meanwhile; then tells what is left."""
    request = w.requests[r]
    matched = request.match
    if _slots(w, r) > w.now[0].slots_left:
        return False, NO_ROOM
    held = lock(w, matched, True)
    chunk, verdict = _fitting_chunk(w, r, request.host_hit)
    if verdict == OPEN and request.found != matched:
        chunk, verdict = _load(w, r, chunk)
    if verdict == OPEN:
        request.lock = request.match
        request.holds_state = lock(w, request.match, True)
        _choose(w, r, chunk)
    unlock(w, matched, held)
    if verdict != OPEN:
        return False, verdict
    return True, _verdict(w)


@compiled
def _load(w: World, r: int, chunk: int) -> tuple[int, int]:
    """Loads what of the prefix is on the host; without it the request is judged anew."""
    request = w.requests[r]
    loaded = load(w, r)
    if loaded < request.host_hit:
        return _fitting_chunk(w, r, 0)
    request.prefix += loaded
    request.protected = request.prefix
    return min(chunk, request.prompt + request.outputs - request.prefix), OPEN


@compiled
def _fitting_chunk(w: World, r: int, host_hit: int) -> tuple[int, int]:
    """The chunk after what device and host hold; what has to be loaded takes room like what is computed."""
    request, option, now = w.requests[r], w.option[0], w.now[0]
    uncached = request.prompt + request.outputs - request.prefix
    to_come = output_to_come(max(request.max_new, request.outputs), request.outputs, option.decode_clip)
    if uncached + to_come + option.page + _slots(w, r) * option.slot_cost >= _room(w):
        return 0, NO_ROOM
    chunk = first_chunk(request.prefix + host_hit, uncached - host_hit, now.chunk_left, option.page)
    return chunk, OPEN if chunk > 0 else SPENT


@compiled
def _verdict(w: World) -> int:
    now = w.now[0]
    if _room(w) <= 0 or kv_available(w) + now.kv_evictable - now.promised_now <= 0:
        return NO_ROOM
    if w.option[0].unified and now.slots_left <= 0:
        return NO_ROOM
    return SPENT if now.input_left <= 0 or now.chunk_left <= 0 else OPEN


@compiled
def _slots(w: World, r: int) -> int:
    """Slots that unified memory counts for a request before it has its own; tracking slots are not counted."""
    return 1 if w.option[0].unified and not w.requests[r].holds_slot else 0


@compiled
def _room(w: World) -> float:
    now = w.now[0]
    return kv_available(w) + now.kv_evictable - now.promised


@compiled
def _choose(w: World, r: int, chunk: int) -> None:
    request, option, now = w.requests[r], w.option[0], w.now[0]
    request.chunk_end = request.prefix + chunk
    whole = request.chunk_end == request.prompt + request.outputs
    row = w.rows[1 - now.launched_side, now.chosen]
    row.request, row.part, row.boundary = r, LAST_CHUNK, arithmetic.NONE
    now.chosen += 1
    if not whole:
        now.cut = r
        row.part = MIDDLE_CHUNK
    paged = pages_up(chunk, option.page)
    reserve = min(request.max_new, option.decode_clip) if whole else 0
    held = paged + option.page + _slots(w, r) * option.slot_cost
    now.promised_now += held
    now.promised += held + reserve
    now.slots_left -= _slots(w, r)
    now.input_left -= paged
    now.chunk_left -= paged
