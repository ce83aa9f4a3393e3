"""Sends requests to the scheduler, writes down what it decided, and skips what changes nothing but counters."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import (
    ABORTED,
    DONE,
    ENDED,
    FINISHED,
    GROW,
    LIVE,
    NOT_RUN,
    PAUSED,
    STUCK,
    UNSENT,
    World,
    compiled,
)
from poolsplit.replay.kernel.pacing import advance_clock, send_due, sends_followers, wait_for_due
from poolsplit.replay.kernel.pools import kv_available, states_available
from poolsplit.replay.kernel.room import has_room, make_queue_room
from poolsplit.replay.kernel.scheduler import idle, iterate
from poolsplit.replay.kernel.skipping import skip_decode_steps, skip_idle_iterations
from poolsplit.replay.kernel.tree import rebuild_table

STUCK_ITERATIONS = 50
"""Idle iterations with requests waiting after which a queue counts as blocked for ever."""
RUNNING = -1
"""Status while nothing has gone wrong."""


@compiled
def run_world(w: World, iterations: int) -> int:
    """Goes on for at most so many iterations and tells why it stopped; the same or grown arrays may be given back."""
    now = w.now[0]
    now.status = RUNNING
    if now.table_is_stale:
        rebuild_table(w)
    for _ in range(iterations):
        if not _goes_on(w):
            return FINISHED
        make_queue_room(w)
        send_due(w)
        if skip_decode_steps(w):
            send_due(w)
        if not has_room(w):
            return GROW
        now.ended = now.prefill_tokens = 0
        ran = iterate(w)
        if now.status != RUNNING:
            return now.status
        now.iteration += 1
        advance_clock(w, ran)
        _measure(w, ran)
        _collect(w)
        if w.option[0].sequential and now.outstanding == 0:
            idle(w)
        skip_idle_iterations(w)
        if ran == 0 and now.launched == 0:
            wait_for_due(w)
        if _is_stuck(w, ran):
            _give_up(w)
            return FINISHED
    return PAUSED


@compiled
def _goes_on(w: World) -> bool:
    now = w.now[0]
    result_pending = w.option[0].overlap and now.launched > 0
    return now.next_request < w.requests.size or now.outstanding > 0 or result_pending


@compiled
def _measure(w: World, ran: int) -> None:
    now = w.now[0]
    w.busy[ran] += 1
    now.least_kv_free = min(now.least_kv_free, now.kv_free)
    now.least_state_free = min(now.least_state_free, now.state_free)


@compiled
def _collect(w: World) -> None:
    """Writes down the requests that ended in this iteration, with both pools as they are at its end."""
    now = w.now[0]
    for i in range(now.ended):
        r = w.scratch[ENDED, i]
        request = w.requests[r]
        if request.place != ABORTED:
            request.place = DONE
        request.done_step = now.iteration
        request.kv_evicted = now.kv_evicted - request.kv_evicted
        request.states_evicted = now.states_evicted - request.states_evicted
        request.cap_states_evicted = now.cap_states_evicted - request.cap_states_evicted
        _write_occupancy(w, r)
        now.outstanding -= 1
        sends_followers(w, r)


@compiled
def _write_occupancy(w: World, r: int) -> None:
    request, now = w.requests[r], w.now[0]
    request.kv_free, request.kv_evictable, request.kv_protected = kv_available(w), now.kv_evictable, now.kv_protected
    request.state_free, request.state_evictable = states_available(w), now.state_evictable
    request.state_protected = now.state_protected
    request.host_kv_free, request.host_state_free = now.host_kv_free, now.host_state_free


@compiled
def _is_stuck(w: World, ran: int) -> bool:
    option, now = w.option[0], w.now[0]
    more_to_come = (option.by_arrival and now.next_request < w.requests.size) or now.due > 0
    pending = option.overlap and now.launched > 0
    is_idle = ran == 0 and now.outstanding > 0 and not pending and not more_to_come
    now.idle_iterations = now.idle_iterations + 1 if is_idle else 0
    return now.idle_iterations > STUCK_ITERATIONS


@compiled
def _give_up(w: World) -> None:
    for r in range(w.requests.size):
        if w.requests[r].place == LIVE:
            w.requests[r].place = STUCK
            _write_occupancy(w, r)
        elif w.requests[r].place == UNSENT:
            w.requests[r].place = NOT_RUN
