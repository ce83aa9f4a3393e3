"""The scheduler's iteration: admit, decode, and process results (docs/replay.md, 6 to 8)."""

from __future__ import annotations

from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.admission import NOBODY, admit, begin_pass, continue_chunked
from poolsplit.replay.kernel.holdings import (
    checkpoint,
    decode_fits,
    finish,
    note_end,
    return_second_slot,
    snapshot_done,
    snapshot_position,
    take_for_decode,
    take_for_prefill,
)
from poolsplit.replay.kernel.journal import write_journal
from poolsplit.replay.kernel.layout import (
    DECODE,
    LAST_CHUNK,
    MIDDLE_CHUNK,
    NOTE_LOOKUP,
    RIDING,
    Records,
    World,
    compiled,
)
from poolsplit.replay.kernel.ordering import arrange
from poolsplit.replay.kernel.pools import return_aside, set_aside
from poolsplit.replay.kernel.retraction import keep_fitting
from poolsplit.replay.kernel.tiers import settle


@compiled
def iterate(w: World) -> int:
    """One iteration; gives the number of rows of the batch that ran."""
    option, now = w.option[0], w.now[0]
    count = _next_batch(w)
    batch, before = w.rows[1 - now.launched_side], w.rows[now.launched_side]
    _note(w, count)
    for i in range(count):
        w.requests[batch[i].request].in_flight += 1
    now.steps += count > 0
    if option.overlap:
        _process(w, before, now.launched)
    else:
        _process(w, batch, count)
    if count == 0 and now.launched == 0:
        idle(w)
    now.launched, now.launched_side = count, 1 - now.launched_side
    return count


@compiled
def idle(w: World) -> None:
    """An idle server starts its estimate of outputs anew."""
    now = w.now[0]
    if now.waiting_head == now.waiting_tail and now.running == 0 and now.chunked == NOBODY:
        now.ratio = w.option[0].first_ratio


@compiled
def _next_batch(w: World) -> int:
    now = w.now[0]
    if w.option[0].host:
        settle(w)
    if now.chunked != NOBODY:
        checkpoint(w, now.chunked)
    _join_prefilled(w)
    _drop_leaving(w, False)
    count = _prefill_batch(w)
    return count if count > 0 else _decode_batch(w)


@compiled
def _join_prefilled(w: World) -> None:
    """The requests whose prefill was just launched join the running ones."""
    now = w.now[0]
    rows = w.rows[now.launched_side]
    if now.launched == 0 or rows[0].part == DECODE:
        return
    before = now.running
    for i in range(now.launched):
        if rows[i].part != MIDDLE_CHUNK and not w.requests[rows[i].request].ended:
            w.running[now.running] = rows[i].request
            now.running += 1
    joined = now.running - before
    if joined < now.launched or (joined > 0 and before == 0):
        now.full = False


@compiled
def _drop_leaving(w: World, also_in_flight: bool) -> None:
    """Takes ended requests off the running list and, on demand, those that the result in flight will end by length."""
    now, kept = w.now[0], 0
    for i in range(now.running):
        r = w.running[i]
        if not (_ends_in_flight(w, r) if also_in_flight else w.requests[r].ended):
            w.running[kept] = r
            kept += 1
    if kept < now.running:
        now.full = False
    now.running = kept


@compiled
def _ends_in_flight(w: World, r: int) -> bool:
    request = w.requests[r]
    return w.option[0].overlap and request.in_flight > 0 and request.outputs + 1 >= request.max_new


@compiled
def _prefill_batch(w: World) -> int:
    now = w.now[0]
    if now.running == 0:
        now.full = False
    if now.chunked == NOBODY:
        if now.full or now.waiting_head == now.waiting_tail:
            return 0
        if now.running >= w.option[0].running_cap:
            now.full = True
            return 0
    arrange(w)
    begin_pass(w)
    if now.chunked != NOBODY:
        continue_chunked(w, now.chunked)
    set_aside(w, now.waiting_tail - now.waiting_head)
    admit(w)
    return_aside(w)
    if now.chosen == 0:
        return 0
    now.chunked = now.cut
    take_for_prefill(w)
    return now.chosen + (_riding_rows(w) if w.option[0].mixed else 0)


@compiled
def _riding_rows(w: World) -> int:
    """With mixed chunks, running requests take their decode step inside the prefill batch, untracked."""
    now = w.now[0]
    if now.running == 0:
        return 0
    _drop_leaving(w, True)
    if now.running == 0 or not decode_fits(w, now.running):
        return 0
    take_for_decode(w)
    for i in range(now.running):
        snapshot_position(w, w.running[i])
    rows, riding = w.rows[1 - now.launched_side], now.running
    for i in range(riding):
        return_second_slot(w, w.running[i])
        row = rows[now.chosen + i]
        row.request, row.part, row.boundary = w.running[i], RIDING, NONE
    now.running = 0
    return riding


@compiled
def _decode_batch(w: World) -> int:
    option, now = w.option[0], w.now[0]
    before = now.running
    _drop_leaving(w, True)
    if now.running == 0:
        return 0
    if decode_fits(w, now.running):
        now.ratio = max(now.ratio - option.ratio_decay, option.least_ratio)
    elif now.running < before:
        return 0
    else:
        keep_fitting(w)
    if now.running == 0:
        return 0
    take_for_decode(w)
    rows = w.rows[1 - now.launched_side]
    for i in range(now.running):
        row = rows[i]
        row.request, row.part = w.running[i], DECODE
        row.boundary = snapshot_position(w, w.running[i])
    return now.running


@compiled
def _process(w: World, rows: Records, count: int) -> None:
    """Results in batch order; rows of requests that have ended or were sent back are passed over."""
    for i in range(count):
        row = rows[i]
        r = row.request
        request = w.requests[r]
        if request.in_flight == 0:
            continue
        request.in_flight -= 1
        if request.ended or row.part == MIDDLE_CHUNK:
            continue
        request.outputs += 1
        if row.boundary != NONE:
            snapshot_done(w, r, row.boundary)
        if request.outputs >= request.final_outputs:
            request.ended = True
            finish(w, r)
            note_end(w, r)
        elif row.part == LAST_CHUNK:
            checkpoint(w, r)


@compiled
def _note(w: World, count: int) -> None:
    """Writes prefill rows down; a decode row of a request prefilled in one chunk begins an entry of its own."""
    now = w.now[0]
    rows = w.rows[1 - now.launched_side]
    for i in range(count):
        if rows[i].part == DECODE:
            return
        request = w.requests[rows[i].request]
        chunk = w.chunks[now.chunks]
        chunk.request, chunk.step, chunk.branch = rows[i].request, now.steps, request.branch
        chunk.start = request.committed - 1 if rows[i].part == RIDING else request.prefix
        chunk.end = request.committed
        chunk.opens = request.prefill_batches == 1 or request.reopens
        if request.matched == NONE:
            request.matched = request.prefix
            request.admitted_s = now.clock_s
            write_journal(w, NOTE_LOOKUP, rows[i].request, request.prompt + request.outputs)
        request.reopens = False
        now.chunks += 1
