"""What a request does at its start and at its finish (docs/replay.md, 3 and 6)."""

from __future__ import annotations

from poolsplit.replay import arithmetic
from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered.cache import insert, lock, lookup, unlock
from poolsplit.replay.ordered.layout import ROOT, World
from poolsplit.replay.ordered.pools import free_states_to, give_states, take_kv, take_states
from poolsplit.replay.ordered.tree import reread_path

branching_position = compiled(arithmetic.branching_position)
first_chunk = compiled(arithmetic.first_chunk)
pages_up = compiled(arithmetic.pages_up)
prefill_snapshot = compiled(arithmetic.prefill_snapshot)


@compiled
def start(w: World, r: int) -> None:
    """Looks a request up and runs its prefill chunk by chunk; its answer's KV is taken behind it."""
    request, option = w.requests[r], w.option[0]
    _match(w, r)
    slots = option.tracking_slots + (not request.holds_slot)
    free_states_to(w, slots)
    take_states(w, slots)
    request.holds_slot, request.tracking = True, option.tracking_slots
    chunk = first_chunk(request.prefix, request.prompt - request.prefix, option.chunk_tokens, option.page)
    while True:
        _compute(w, r, request.prefix + chunk)
        if request.chunk_end == request.prompt:
            break
        _checkpoint(w, r)
        chunk = min(request.prompt - request.prefix, option.chunk_tokens)
    _answer(w, r)


@compiled
def finish(w: World, r: int) -> None:
    """Gives the last snapshot to the tree and everything else back."""
    request, option = w.requests[r], w.option[0]
    position = request.snapshot if option.tracks else request.committed
    if position != NONE:
        reread_path(w, r, request.protected)
        if insert(w, r, position):
            w.now[0].state_free -= 1
            w.now[0].held_states += 1
    w.now[0].kv_free += pages_up(request.committed, option.page) - request.protected
    unlock(w, request.lock, request.holds_state)
    request.lock, request.holds_state = ROOT, False
    give_states(w, request.tracking + request.holds_slot)
    request.tracking, request.holds_slot = 0, False


@compiled
def _match(w: World, r: int) -> None:
    """The lookup, the slot that its state is copied to, and the lock."""
    request, option, now = w.requests[r], w.option[0], w.now[0]
    if option.refresh_every > 0 and now.starts % option.refresh_every == 0:
        lookup(w, r, request.prompt)
    now.starts += 1
    node = lookup(w, r, request.prompt - 1)
    request.branch = branching_position(request.kv_matched, request.matched, option.grid)
    request.prefix = request.protected = request.matched
    request.consumed = node
    if node != ROOT:
        held = lock(w, node, True)
        free_states_to(w, 1)
        unlock(w, node, held)
        take_states(w, 1)
        request.holds_slot = True
    request.lock = node
    request.holds_state = lock(w, node, True)


@compiled
def _compute(w: World, r: int, end: int) -> None:
    """One prefill chunk: its KV, and where its snapshot lies."""
    request, option = w.requests[r], w.option[0]
    page = option.page
    take_kv(
        w,
        pages_up(end, page) - pages_up(request.prefix, page),
        end - request.prefix + (page if page > 1 else 0),
    )
    request.chunk_end = request.committed = end
    if option.tracks:
        position = prefill_snapshot(request.prefix, end, request.branch, option.grid, option.step, option.kernel_chunk)
        if position != NONE:
            request.snapshot = position


@compiled
def _checkpoint(w: World, r: int) -> None:
    """Puts what a chunk computed into the tree, up to its snapshot, and hands the lock over."""
    request, option = w.requests[r], w.option[0]
    position = request.snapshot if option.tracks else request.chunk_end
    if position != NONE:
        if w.now[0].state_free < 1 and option.lazy and option.lazy_lock_release and request.holds_state:
            w.nodes[request.lock].state_locks -= 1
            request.holds_state = False
        free_states_to(w, 1)
        take_states(w, 1)
        if not insert(w, r, position):
            give_states(w, 1)
    request.snapshot = NONE
    request.prefix = request.chunk_end


@compiled
def _answer(w: World, r: int) -> None:
    """Decode: KV for all steps, and the last snapshot; with overlap the first step comes before the last checkpoint."""
    request, option = w.requests[r], w.option[0]
    steps = request.output - 1
    if steps == 0:
        if not option.tracks:
            request.prefix = request.chunk_end
        return
    if option.overlap:
        second = _first_step(w, r)
        _checkpoint(w, r)
        give_states(w, second)
        _decode(w, r, steps - 1)
    else:
        _checkpoint(w, r)
        _decode(w, r, steps)
    boundary = request.committed // option.track_grid * option.track_grid
    if option.tracks and boundary > request.prompt:
        request.snapshot = boundary


@compiled
def _first_step(w: World, r: int) -> int:
    """The decode step before the prefill's result is in; a lazy one may take a second slot, or spoil the last."""
    request, option = w.requests[r], w.option[0]
    _decode(w, r, 1)
    if not option.lazy or request.committed % option.track_grid != 0:
        return 0
    if w.now[0].state_free > 0:
        take_states(w, 1)
        return 1
    request.snapshot = NONE
    return 0


@compiled
def _decode(w: World, r: int, steps: int) -> None:
    """KV of some decode steps; with pages, each step wants a whole page free."""
    if steps == 0:
        return
    request, page = w.requests[r], w.option[0].page
    end = request.committed + steps
    tokens = pages_up(end, page) - pages_up(request.committed, page)
    spare = page if page > 1 and (end - 1) % page != 0 else 0
    take_kv(w, tokens, tokens + spare)
    request.committed = end
