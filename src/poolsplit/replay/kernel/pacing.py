"""Who is sent when: by iteration, by the clock, or in a closed loop of sessions that think between requests."""

from __future__ import annotations

import math

from poolsplit.replay.kernel.layout import LIVE, REJECTED, World, compiled

NOBODY = -1
"""As a link to a request: there is none."""


@compiled
def send_due(w: World) -> None:
    """Submits what is due; an input that the server would turn away never joins the queue."""
    if w.option[0].clocked:
        _send_by_clock(w)
    else:
        _send_in_order(w)


@compiled
def advance_clock(w: World, rows: int) -> None:
    """Time passes by the batch that ran: its prefill tokens, and one decode step of its other rows."""
    now = w.now[0]
    if not w.option[0].clocked:
        return
    now.clock_s += now.prefill_tokens * w.option[0].prefill_s_a_token
    decoding = rows - now.chosen if now.prefill_tokens > 0 else rows
    if decoding > 0:
        now.clock_s += w.step_s[decoding]


@compiled
def wait_for_due(w: World) -> None:
    """A server with nothing to do goes straight to the next request."""
    now = w.now[0]
    if now.due > 0:
        now.clock_s = max(now.clock_s, w.requests[w.due[0]].due_s)


@compiled
def steps_to_due(w: World, rows: int) -> int:
    """Decode steps that begin before the next request is sent."""
    now = w.now[0]
    if now.due == 0:
        return 1 << 40
    wait_s, step_s = w.requests[w.due[0]].due_s - now.clock_s, w.step_s[rows]
    return math.ceil(min(wait_s / step_s, 2.0**40)) if step_s > 0 else 0


@compiled
def sends_followers(w: World, r: int) -> None:
    """A request that has ended lets its client think and send the next; a session that has ended frees its lane."""
    if not w.option[0].clocked:
        return
    now, request = w.now[0], w.requests[r]
    request.done_s = now.clock_s
    follower = request.first_follower
    while follower != NOBODY:
        w.requests[follower].due_s = now.clock_s + w.requests[follower].think_s
        _push_due(w, follower)
        follower = w.requests[follower].next_follower
    if w.sessions.size > 0:
        session = w.sessions[request.session]
        session.left -= 1
        if session.left == 0:
            now.lanes_used -= 1


@compiled
def _send_in_order(w: World) -> None:
    option, now = w.option[0], w.now[0]
    while now.next_request < w.requests.size and now.outstanding < option.outstanding_cap:
        if option.by_arrival and w.requests[now.next_request].arrival > now.iteration:
            return
        now.next_request += 1
        _submit(w, now.next_request - 1)


@compiled
def _send_by_clock(w: World) -> None:
    option, now = w.option[0], w.now[0]
    while now.lanes_used < option.lanes and now.next_session < w.sessions.size:
        starter = w.sessions[now.next_session].first_starter
        now.next_session += 1
        now.lanes_used += 1
        while starter != NOBODY:
            w.requests[starter].due_s = now.clock_s
            _push_due(w, starter)
            starter = w.requests[starter].next_starter
    while now.due > 0 and w.requests[w.due[0]].due_s <= now.clock_s:
        r = _pop_due(w)
        now.next_request += 1
        _submit(w, r)
        if w.requests[r].place == REJECTED:
            sends_followers(w, r)


@compiled
def _submit(w: World, r: int) -> None:
    request, now = w.requests[r], w.now[0]
    if request.prompt >= w.option[0].input_limit:
        request.place = REJECTED
        return
    request.place = LIVE
    request.kv_evicted, request.states_evicted = now.kv_evicted, now.states_evicted
    request.cap_states_evicted = now.cap_states_evicted
    w.waiting[now.waiting_tail] = r
    now.waiting_tail += 1
    now.outstanding += 1


@compiled
def _earlier(w: World, one: int, other: int) -> bool:
    mine, theirs = w.requests[one].due_s, w.requests[other].due_s
    return mine < theirs or (mine == theirs and one < other)


@compiled
def _push_due(w: World, r: int) -> None:
    now = w.now[0]
    at = now.due
    now.due += 1
    while at > 0 and _earlier(w, r, w.due[(at - 1) // 2]):
        w.due[at] = w.due[(at - 1) // 2]
        at = (at - 1) // 2
    w.due[at] = r


@compiled
def _pop_due(w: World) -> int:
    now = w.now[0]
    first = w.due[0]
    now.due -= 1
    moved, at = w.due[now.due], 0
    while 2 * at + 1 < now.due:
        child = 2 * at + 1
        if child + 1 < now.due and _earlier(w, w.due[child + 1], w.due[child]):
            child += 1
        if not _earlier(w, w.due[child], moved):
            break
        w.due[at] = w.due[child]
        at = child
    w.due[at] = moved
    return first
