"""Findings about kept prefixes: whether sessions find their state again, here and on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding
from poolsplit.live.case import CLEARLY_LESS, ENOUGH_REUSE, ENOUGH_TOKENS, IDLE_FRACTION, NEARLY_FULL_FRACTION, percent

if TYPE_CHECKING:
    from poolsplit.engines.live_reading import PoolUse
    from poolsplit.live.case import Case


def residency_lost(case: Case) -> Finding | None:
    """Reuse is far under what the traffic's repeats allow: prefixes are gone before they come back."""
    traffic, (limit, origin) = case.view.traffic, _reuse_limit(case)
    reused = traffic.cached_fraction
    if reused is None or limit is None or traffic.prefill_tokens < ENOUGH_TOKENS:
        return None
    if limit < ENOUGH_REUSE or reused >= CLEARLY_LESS * limit:
        return None
    pool, evidence = _which_pool_lost_it(case)
    return Finding(
        id="residency_lost",
        severity="warning",
        text=f"{percent(reused)} of the prompt tokens were reused, {percent(limit)} {origin}: {pool}",
        evidence=(f"{traffic.prefill_tokens:,} prompt tokens in the window", *evidence),
        flags=(case.advice.ratio,) if case.pools_are_apart else (),
    )


def _reuse_limit(case: Case) -> tuple[float | None, str]:
    """What could be reused, and where that is known from: given, planned, or seen before in this session."""
    if case.reuse_limit is not None:
        return case.reuse_limit, "repeat in the traffic"
    if case.expected and case.expected.reuse_limit is not None:
        return case.expected.reuse_limit, "repeat in the planned traffic"
    return case.view.best_cached_fraction, "were reused earlier in this session"


def _which_pool_lost_it(case: Case) -> tuple[str, tuple[str, ...]]:
    """Prefixes need both a state and their KV rows; the pool with less kept beside less free lost them."""
    state, kv = case.state, case.kv
    if state is None or kv is None:
        return "which pool lost them is not exported", ()
    evidence = (
        f"slots: {state.evictable:,} keep checkpoints, {state.available:,} free of {state.capacity:,}",
        f"KV: {kv.evictable:,} tokens kept, {kv.available:,} free of {kv.capacity:,}",
    )
    if _reclaimable_fraction(state) < _reclaimable_fraction(kv):
        return "checkpoints are evicted first, and KV rows without a checkpoint cannot be reused", evidence
    return "KV rows are evicted first", evidence


def _reclaimable_fraction(pool: PoolUse) -> float:
    return (pool.evictable + pool.available) / pool.capacity if pool.capacity else 0.0


def checkpoints_crowd_requests(case: Case) -> Finding | None:
    """Slots are locked beyond what running requests reserve, while requests wait for slots."""
    rank, reserved = case.sample.tightest_state, case.slots_per_request
    state = rank.state if rank else None
    if rank is None or state is None or rank.running is None or reserved is None:
        return None
    if not case.sample.queued or not case.pools_are_apart:
        return None
    beyond = state.used - rank.running * reserved
    if beyond < reserved or state.evictable + state.available >= reserved:
        return None
    return Finding(
        id="checkpoints_crowd_requests",
        severity="warning",
        text=f"{beyond:,} slots are held by something other than running requests (open sessions, locked prefixes) "
        "while requests wait for slots",
        evidence=(
            f"{state.used:,} of {state.capacity:,} slots in use, {rank.running} running at {reserved} slots",
            f"{state.available:,} free, {state.evictable:,} could be taken back",
        ),
        flags=case.fit_flags(towards="state"),
    )


def requests_crowd_checkpoints(case: Case) -> Finding | None:
    """Running requests take all slots: no checkpoint stays until its session comes back."""
    state, reused = case.state, case.view.traffic.cached_fraction
    if state is None or state.used_fraction is None or _keeps_states_elsewhere(case):
        return None
    if state.used_fraction < NEARLY_FULL_FRACTION or reused is None:
        return None
    limit, _ = _reuse_limit(case)
    if limit is None or limit < ENOUGH_REUSE or reused >= CLEARLY_LESS * limit:
        return None
    return Finding(
        id="requests_crowd_checkpoints",
        severity="warning",
        text=f"running requests hold {percent(state.used_fraction)} of the state slots, so {state.evictable:,} "
        "checkpoints are kept: lower the request cap or give the state more memory",
        evidence=(f"{percent(reused)} of the prompt tokens were reused, {percent(limit)} could be",),
        flags=(case.advice.max_running, *case.fewer_slots_flags()),
    )


def slots_idle_but_kept(case: Case) -> Finding | None:
    """Low use of the state pool is not room for more sessions: the rest already keeps checkpoints."""
    state = case.state
    if state is None or state.used_fraction is None or _keeps_states_elsewhere(case) or not case.pools_are_apart:
        return None
    if state.used_fraction >= IDLE_FRACTION or state.available > (1 - NEARLY_FULL_FRACTION) * state.capacity:
        return None
    return Finding(
        id="slots_idle_but_kept",
        severity="info",
        text=f"{percent(state.used_fraction)} of the state slots are in use, but only {state.available:,} are free: "
        f"{state.evictable:,} keep checkpoints, and each further one pushes out the oldest",
        evidence=(f"used {state.used:,}, kept {state.evictable:,}, free {state.available:,} of {state.capacity:,}",),
    )


def _keeps_states_elsewhere(case: Case) -> bool:
    return bool(case.sample.facts and case.sample.facts.int8_checkpoints)


def host_states_few(case: Case) -> Finding | None:
    """The host keeps rows whose states it cannot keep: they are never found again."""
    rank = next((rank for rank in case.sample.ranks if rank.host and rank.host.total_states), None)
    host = rank.host if rank else None
    if host is None or host.used_states is None or not host.total_states:
        return None
    states, tokens = host.used_states / host.total_states, host.used_tokens / host.total_tokens
    if states < NEARLY_FULL_FRACTION or tokens >= IDLE_FRACTION:
        return None
    hits = case.view.traffic.tier_fraction("host")
    return Finding(
        id="host_states_few",
        severity="warning",
        text=f"the host tier's {host.total_states:,} states are full while {percent(1 - tokens)} of its KV rows are "
        "empty: rows without a state are of no use, and only the device's own split changes the host's",
        evidence=(
            f"host states {host.used_states:,} of {host.total_states:,}",
            f"host tokens {host.used_tokens:,} of {host.total_tokens:,}",
            f"{percent(hits)} of the prompt tokens came from the host",
        ),
        flags=(case.advice.host_size, case.advice.ratio),
    )


def int8_states_unseen(case: Case) -> Finding | None:
    """Cached states live in a pool that no metric shows."""
    if not _keeps_states_elsewhere(case):
        return None
    return Finding(
        id="int8_states_unseen",
        severity="info",
        text="cached states live in an eight-bit pool of their own that no metric shows: kept slots read as 0",
    )


def waits_for_the_other_side(case: Case) -> Finding | None:
    """In a split deployment, more requests wait for the other server than run here."""
    queues = [rank.queues for rank in case.sample.first_stages if rank.queues]
    waiting = sum(queue.total for queue in queues)
    running = case.sample.running or 0
    if waiting == 0 or waiting < max(1, running):
        return None
    return Finding(
        id="waits_for_the_other_side",
        severity="info",
        text=f"{waiting} requests are between prefill and decode, {running} run here: the other role's pools are the "
        "ones to look at",
        evidence=(
            f"for prefill {sum(queue.prefill_bootstrap + queue.prefill_inflight for queue in queues)}",
            f"for decode {sum(queue.decode_prealloc + queue.decode_transfer for queue in queues)}",
        ),
    )


CACHE_RULES = (
    residency_lost,
    checkpoints_crowd_requests,
    requests_crowd_checkpoints,
    slots_idle_but_kept,
    host_states_few,
    int8_states_unseen,
    waits_for_the_other_side,
)
