"""When a decode step does not fit into the KV pool (docs/replay.md, 8)."""

from __future__ import annotations

from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.eviction import free_kv_to
from poolsplit.replay.kernel.holdings import decode_fits, note_end, release
from poolsplit.replay.kernel.layout import ABORTED, ROOT, World, compiled


@compiled
def keep_fitting(w: World) -> None:
    """Sends requests back to the queue until the step fits; those with the fewest outputs go first.

    The kept ones stay in the order that decided it. A lone request that does not fit is aborted.
    """
    now = w.now[0]
    _sort_running(w)
    kept = now.running
    now.full = False
    while kept > 1:
        kept -= 1
        w.waiting[now.waiting_tail] = w.running[kept]
        now.waiting_tail += 1
        _send_back(w, w.running[kept], kept)
        if decode_fits(w, kept):
            break
    if kept == 1 and not decode_fits(w, kept):
        kept = 0
        _send_back(w, w.running[0], 0)
        w.requests[w.running[0]].place = ABORTED
        note_end(w, w.running[0])
    now.running = kept
    _estimate_anew(w)


@compiled
def _estimate_anew(w: World) -> None:
    now = w.now[0]
    generated, asked = w.option[0].retract_free * now.running, 0
    for i in range(now.running):
        generated += w.requests[w.running[i]].outputs
        asked += w.requests[w.running[i]].max_new
    now.ratio = min(1.0, generated / (asked + 1))


@compiled
def _sort_running(w: World) -> None:
    """Stable: most outputs first, then the shortest prompt."""
    for i in range(1, w.now[0].running):
        r, j = w.running[i], i
        while j > 0 and _keeps_longer(w, r, w.running[j - 1]):
            w.running[j] = w.running[j - 1]
            j -= 1
        w.running[j] = r


@compiled
def _keeps_longer(w: World, one: int, other: int) -> bool:
    mine, theirs = w.requests[one], w.requests[other]
    if mine.outputs != theirs.outputs:
        return mine.outputs > theirs.outputs
    return mine.prompt < theirs.prompt


@compiled
def _send_back(w: World, r: int, remaining: int) -> None:
    request = w.requests[r]
    release(w, r)
    free_kv_to(w, remaining * w.option[0].retract_free)
    request.in_flight = request.committed = request.prefix = request.chunk_end = 0
    request.protected = request.counted = request.prefill_batches = 0
    request.match = request.found = ROOT
    request.host_hit = 0
    request.last = request.previous = request.branch = NONE
    request.reopens = True
    request.retractions += 1
