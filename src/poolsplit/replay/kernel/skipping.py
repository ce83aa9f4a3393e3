"""Iterations that change nothing but counters, taken many at a time and exactly."""

from __future__ import annotations

from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.admission import NOBODY
from poolsplit.replay.kernel.layout import DECODE, World, compiled
from poolsplit.replay.kernel.pacing import steps_to_due
from poolsplit.replay.kernel.pools import kv_available
from poolsplit.replay.kernel.scheduler import idle


@compiled
def skip_decode_steps(w: World) -> bool:
    """Takes all decode steps in which nobody ends, is tracked, arrives or makes the cache evict; tells whether any."""
    now = w.now[0]
    if not _decodes_alone(w):
        return False
    steps = min(_steps_to_event(w), _steps_to_arrival(w), steps_to_due(w, now.running))
    if steps > 0:
        steps = _steps_that_fit(w, steps)
    if steps <= 0:
        return False
    now.kv_free -= _new_pages(w, steps) * w.option[0].page
    for i in range(now.running):
        request = w.requests[w.running[i]]
        request.committed += steps
        request.outputs += steps
    _decay(w, steps)
    now.steps += steps
    now.iteration += steps
    w.busy[now.running] += steps
    now.clock_s += steps * w.step_s[now.running]
    return True


@compiled
def skip_idle_iterations(w: World) -> None:
    """An empty server goes straight to the next arrival."""
    now = w.now[0]
    nothing = now.outstanding == 0 and now.launched == 0 and now.waiting_head == now.waiting_tail
    if not (w.option[0].by_arrival and nothing and now.next_request < w.requests.size):
        return
    wait = w.requests[now.next_request].arrival - now.iteration
    if wait > 0:
        now.iteration += wait
        w.busy[0] += wait
        idle(w)


@compiled
def _decodes_alone(w: World) -> bool:
    """The last step was a decode step of exactly the running requests, and no prefill can begin."""
    option, now = w.option[0], w.now[0]
    rows = w.rows[now.launched_side]
    waits = now.waiting_head < now.waiting_tail and not now.full
    if now.running == 0 or now.launched != now.running or now.chunked != NOBODY or waits or rows[0].part != DECODE:
        return False
    for i in range(now.running):
        request = w.requests[w.running[i]]
        if rows[i].request != w.running[i] or request.ended:
            return False
        if option.overlap and (request.in_flight != 1 or rows[i].boundary != NONE):
            return False
    return True


@compiled
def _steps_to_event(w: World) -> int:
    """Steps before one of the running requests produces its last output or reaches a tracked length."""
    option = w.option[0]
    steps = 1 << 40
    for i in range(w.now[0].running):
        request = w.requests[w.running[i]]
        steps = min(steps, request.final_outputs - 1 - request.outputs)
        if option.tracks:
            steps = min(steps, option.track_grid - 1 - request.committed % option.track_grid)
    return steps


@compiled
def _steps_to_arrival(w: World) -> int:
    now = w.now[0]
    if not w.option[0].by_arrival or now.next_request >= w.requests.size:
        return 1 << 40
    return w.requests[now.next_request].arrival - now.iteration


@compiled
def _steps_that_fit(w: World, steps: int) -> int:
    """The most steps, up to `steps`, for which free KV lasts without an eviction."""
    option, now, free = w.option[0], w.now[0], kv_available(w)
    if option.page == 1:
        return min(steps, free // now.running)
    each = now.running * option.page
    if free < each:
        return 0
    low, high = 1, steps
    while low < high:
        middle = (low + high + 1) // 2
        if free - _new_pages(w, middle - 1) * option.page >= each:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def _new_pages(w: World, steps: int) -> int:
    page, pages = w.option[0].page, 0
    for i in range(w.now[0].running):
        committed = w.requests[w.running[i]].committed
        pages += -(-(committed + steps) // page) + (-committed // page)
    return pages


@compiled
def _decay(w: World, steps: int) -> None:
    """One subtraction a step, as the engine does it, until the floor."""
    option, now = w.option[0], w.now[0]
    for _ in range(steps):
        if now.ratio == option.least_ratio:
            return
        now.ratio = max(now.ratio - option.ratio_decay, option.least_ratio)
