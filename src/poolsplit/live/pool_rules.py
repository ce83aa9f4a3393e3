"""Findings about the two pools: which one stops requests, and what the other one leaves idle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding
from poolsplit.live.case import CLEARLY_LESS, IDLE_FRACTION, NEARLY_FULL_FRACTION, STORM_FRACTION, percent
from poolsplit.live.verify import MIN_FINISHED

if TYPE_CHECKING:
    from poolsplit.live.case import Case

MIN_GAIN_FRACTION = 0.05
"""A new split is worth a restart from this gain on."""
MIN_RETRACTIONS = 3


def state_bound_kv_idle(case: Case) -> Finding | None:
    """Requests wait for state slots while most KV rows are free."""
    kv = case.kv
    if case.view.binding != "state" or not case.view.is_saturated or kv is None or kv.used_fraction is None:
        return None
    if kv.used_fraction >= IDLE_FRACTION or not case.pools_are_apart:
        return None
    return Finding(
        id="state_bound_kv_idle",
        severity="warning",
        text=f"requests wait for state slots while no running one holds {percent(1 - kv.used_fraction)} of KV: "
        "more of the memory belongs to the state",
        evidence=(
            case.load,
            f"KV in use {kv.used:,} of {kv.capacity:,} tokens, {kv.evictable:,} kept for reuse",
        ),
        flags=(*case.fit_flags(towards="state"), *case.fewer_slots_flags(), case.advice.smaller_state),
    )


def kv_bound_state_idle(case: Case) -> Finding | None:
    """Requests wait for KV rows while most state slots are free."""
    state = case.state
    if case.view.binding != "kv" or not case.view.is_saturated or state is None or state.used_fraction is None:
        return None
    if state.used_fraction >= IDLE_FRACTION or not case.pools_are_apart:
        return None
    return Finding(
        id="kv_bound_state_idle",
        severity="warning",
        text=f"requests wait for KV rows while no running one holds {percent(1 - state.used_fraction)} of the slots: "
        "more of the memory belongs to the KV pool",
        evidence=(
            case.load,
            f"slots in use {state.used:,} of {state.capacity:,}, {state.evictable:,} keep checkpoints",
        ),
        flags=case.fit_flags(towards="kv"),
    )


def granted_below_requested(case: Case) -> Finding | None:
    """The server admits fewer requests than its launch asked for."""
    facts = case.sample.facts
    if facts is None or facts.requested_running_requests is None or case.granted is None:
        return None
    asked = facts.limits.get("request_cap", 0)
    if case.granted >= asked:
        return None
    by_state = facts.limits.get("state") == case.granted
    pool = "state slots" if by_state else "KV rows"
    return Finding(
        id="granted_below_requested",
        severity="warning",
        text=f"a worker admits {case.granted} requests, not the {asked} asked for: its {pool} do not hold more",
        evidence=(f"state slots {facts.state_slots}, slots a request {facts.slots_per_request}",),
        flags=(*case.fit_flags(towards="state"), *case.fewer_slots_flags(), case.advice.smaller_state)
        if by_state
        else (),
    )


def ratio_for_measured_length(case: Case) -> Finding | None:
    """The split that the measured mean request asks for, when it would let clearly more requests run."""
    fit, finished = case.fit, case.view.traffic.count("finished_requests")
    if fit is None or 0 < finished < MIN_FINISHED:
        return None
    if fit.gain_requests < max(1, MIN_GAIN_FRACTION * fit.now_running_requests):
        return None
    return Finding(
        id="ratio_for_measured_length",
        severity="warning" if case.view.is_saturated else "info",
        text=f"requests are {fit.request_tokens:,.0f} tokens long on average: a ratio of {fit.state_to_kv_ratio:.4f} "
        f"runs {fit.running_requests} of them at once, {fit.gain_requests} more than this split",
        evidence=(
            f"mean length of {finished:,} finished requests" if finished else "mean length of what runs",
            f"now {fit.now_running_requests} requests a worker",
            f"then {fit.state_slots:,} slots and {fit.kv_tokens:,} tokens",
        ),
        flags=(*case.fit_flags(), *_cap_flag(case, fit.running_requests)),
    )


def _cap_flag(case: Case, requests: int) -> tuple[str, ...]:
    """The launch's own request limit, when it would stop the gain."""
    facts = case.sample.facts
    asked = facts.requested_running_requests if facts else None
    if asked is None or facts is None or asked // facts.dp_workers >= requests:
        return ()
    return (f"{case.advice.max_running} {requests * facts.dp_workers}",)


def slots_reserved_not_held(case: Case) -> Finding | None:
    """At the request cap, running requests hold fewer slots than are reserved for them."""
    state, running, reserved = case.state, _running_on_tightest(case), case.slots_per_request
    if state is None or not running or reserved is None or case.granted is None:
        return None
    if running < case.granted or not case.sample.queued or state.capacity // reserved != case.granted:
        return None
    held, spare = state.used / running, state.capacity - state.used
    if spare < reserved:
        return None
    return Finding(
        id="slots_reserved_not_held",
        severity="info",
        text=f"the cap reserves {reserved} slots a request, running ones hold {held:.1f}: {spare:,} slots serve only "
        "as prefix cache while requests wait",
        evidence=(f"{running} running of {case.granted} admitted, {state.used:,} of {state.capacity:,} slots in use",),
        flags=case.fewer_slots_flags(),
    )


def _running_on_tightest(case: Case) -> int | None:
    rank = case.sample.tightest_state
    return rank.running if rank else None


def retraction_storm(case: Case) -> Finding | None:
    """Running requests are thrown back again and again: their KV rows were promised twice."""
    traffic = case.view.traffic
    retracted, finished = traffic.count("retracted_requests"), traffic.count("finished_requests")
    if retracted < MIN_RETRACTIONS or retracted < STORM_FRACTION * max(1, finished):
        return None
    kv = case.kv
    return Finding(
        id="retraction_storm",
        severity="warning",
        text=f"{retracted} requests were retracted while {finished} finished: the KV pool is too small for what was "
        "admitted, and their prompts are computed again",
        evidence=(
            f"{traffic.count('retracted_tokens'):,} tokens thrown back",
            f"KV in use {percent(kv.used_fraction if kv else None)}",
        ),
        flags=(*case.fit_flags(towards="kv"), *_lower_limit_flag(case)),
    )


def _lower_limit_flag(case: Case) -> tuple[str, ...]:
    """The request limit at which all running requests of the mean length keep their KV rows, if it is lower."""
    length, rows, facts = case.view.mean_request_tokens, case.sample.kv_tokens, case.sample.facts
    if not length or not rows or facts is None:
        return ()
    fitting = int(rows * facts.dcp_size // length)
    if not fitting or (case.granted is not None and fitting >= case.granted):
        return ()
    return (f"{case.advice.max_running} {fitting * facts.dp_workers}",)


def traffic_differs(case: Case) -> Finding | None:
    """The mean request is far from the planned one: the plan answers another question."""
    planned = case.expected.request_tokens if case.expected else None
    measured = case.view.traffic.mean_request_tokens
    if not planned or measured is None or case.view.traffic.count("finished_requests") < MIN_FINISHED:
        return None
    if CLEARLY_LESS * planned <= measured <= planned / CLEARLY_LESS:
        return None
    return Finding(
        id="traffic_differs",
        severity="warning",
        text=f"requests are {measured:,.0f} tokens long on average, the plan was made for {planned:,.0f}: plan again",
        evidence=(f"{case.view.traffic.count('finished_requests')} requests finished",),
        flags=case.fit_flags(),
    )


def one_buffer(case: Case) -> Finding | None:
    """Both pools share one buffer, whose usage figures say something else."""
    facts = case.sample.facts
    if facts is None or not facts.unified_memory:
        return None
    usage = case.sample.kv_usage_fraction or 0.0
    full = " and it is nearly full" if usage >= NEARLY_FULL_FRACTION else ""
    return Finding(
        id="one_buffer",
        severity="info",
        text=f"both pools share one buffer{full}: usage is measured against what the whole buffer could hold, the "
        "ratio sets the request cap and the host tier only",
        evidence=(f"state usage {percent(case.sample.state_usage_fraction)}, KV usage {percent(usage)}",),
    )


POOL_RULES = (
    state_bound_kv_idle,
    kv_bound_state_idle,
    granted_below_requested,
    ratio_for_measured_length,
    slots_reserved_not_held,
    retraction_storm,
    traffic_differs,
    one_buffer,
)
