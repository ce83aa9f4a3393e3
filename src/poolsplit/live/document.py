"""One judged sample as the JSON object that `watch` prints a line of."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from poolsplit.derivation import Step, step_documents
from poolsplit.engines.boot_report import finding_document
from poolsplit.live.sample import TIERS, what_stops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.live_reading import PoolUse, RankReading
    from poolsplit.live.fleet import Fleet
    from poolsplit.live.session import Judged, Tick
    from poolsplit.live.verify import Comparison

_DECIMALS = 6
NO_COUNTERS = "the server showed no counters"


def sample_document(judged: Judged, *, engine: str) -> dict[str, Any]:
    """Every figure of one replica's sample; unknown is None, with a reason beside it where one is known."""
    sample, view, facts = judged.sample, judged.view, judged.sample.facts
    stop = what_stops(sample)
    cached = sample.traffic.cached_fraction
    return {
        "command": "watch",
        "engine": {"name": engine, "version": facts.engine_version if facts else None},
        "server": sample.server,
        "replica": sample.replica or None,
        "model": facts.model if facts else (sample.ranks[0].model if sample.ranks else None),
        "time": iso_time(sample.time_s),
        "span": sample.span,
        "elapsed_s": _round(sample.elapsed_s),
        "restarted": sample.restarted,
        "running": sample.running,
        "queued": sample.queued,
        "granted": facts.granted_running_requests if facts else None,
        "requested": facts.requested_running_requests if facts else None,
        "state_usage_fraction": _round(sample.state_usage_fraction),
        "kv_usage_fraction": _round(sample.kv_usage_fraction),
        "state": _pool(judged.case.state),
        "kv": _pool(judged.case.kv),
        "cached_fraction": _round(cached),
        "cached_fraction_reason": None if cached is not None else "no prompt tokens were counted in this span",
        "cached_by_tier": {tier: _round(sample.traffic.tier_fraction(tier)) for tier in TIERS},
        "retractions": sample.traffic.count("retracted_requests") if sample.traffic.counts else None,
        "retractions_reason": None if sample.traffic.counts else NO_COUNTERS,
        "finished_requests": sample.traffic.count("finished_requests"),
        "evicted_tokens": sample.traffic.count("evicted_tokens"),
        "mean_queue_wait_s": _round(sample.traffic.mean_queue_wait_s),
        "mean_context_tokens": _round(sample.mean_context_tokens),
        "mean_request_tokens": _round(view.mean_request_tokens),
        "binding": stop.binding,
        "binding_reason": stop.reason,
        "window": {
            "samples": len(view.samples),
            "cached_fraction": _round(view.traffic.cached_fraction),
            "waiting_fraction": _round(view.waiting_fraction),
            "mean_running": _round(view.mean_running),
            "binding": view.binding,
        },
        "ranks": [_rank(rank) for rank in sample.ranks],
        "predicted": predicted(judged),
        "comparisons": [comparison_document(row) for row in judged.comparisons],
        "findings": [finding_document(finding) for finding in judged.findings],
        "plan_command": plan_command(judged),
        "missing": list(sample.missing),
        "warnings": list(sample.warnings),
        "derivation": step_documents(derivation(judged)),
    }


def tick_documents(tick: Tick, *, engine: str) -> list[dict[str, Any]]:
    """The lines of one look: one a replica, one a server without an answer, and one of the fleet."""
    documents = [sample_document(judged, engine=engine) for judged in tick.judged]
    for server, error in tick.errors:
        documents.append({**_line(engine), "server": server, "error": error})
    if tick.fleet is not None:
        documents.append({**_line(engine), "fleet": fleet_document(tick.fleet)})
    return documents


def _line(engine: str) -> dict[str, Any]:
    """What every line carries, for one that is of no single server's sample."""
    return {"command": "watch", "engine": {"name": engine, "version": None}, "warnings": [], "derivation": []}


def predicted(judged: Judged) -> dict[str, Any] | None:
    """Predicted figures under the names of the measured ones; None when nothing was predicted."""
    if judged.expected is None:
        return None
    by_name = {row.name: row.predicted for row in judged.comparisons}
    session = judged.expected.session
    return {
        "origin": judged.expected.origin,
        "running": by_name.get("running"),
        "granted": by_name.get("max_running_requests"),
        "state_slots": by_name.get("state_slots"),
        "kv_tokens": by_name.get("kv_tokens"),
        "cached_fraction": by_name.get("cached_fraction"),
        "mean_request_tokens": by_name.get("mean_request_tokens"),
        "binding": by_name.get("binding"),
        "session_tokens": session.tokens if session else None,
    }


def plan_command(judged: Judged) -> str | None:
    """How to plan anew for the measured traffic from the server's own launch; None when either is unknown.

    With constants and the card, the memory is that of the measured pools: what is free before weights that take
    nothing, so that the engine's share of it is the bytes of both pools.
    """
    length, facts = judged.view.mean_request_tokens, judged.sample.facts
    if not length or facts is None or not facts.launch_command:
        return None
    launch, options = facts.launch_command, [f"--context {round(length)}"]
    sizes, constants, share = judged.case.sizes, judged.case.constants, facts.memory_fraction
    if sizes and constants and share and facts.accelerator:
        free = f"{round(sizes.bytes(constants) / share)}B"
        options += [f"--gpu {quote(facts.accelerator)}", f"--free-before {free}", f"--free-after {free}"]
        flag = judged.case.advice.memory_fraction
        launch += "" if flag in launch else f" {flag} {share!r}"
    return f"poolsplit plan {' '.join(options)} -- {launch}"


def derivation(judged: Judged) -> tuple[Step, ...]:
    """How the figures that are not simply read were found."""
    sample, fit, constants = judged.sample, judged.case.fit, judged.case.constants
    steps = [
        Step(
            name="state_slots",
            value=sample.state_slots,
            unit="slots",
            source="used + evictable + available: there is no series of the total",
        ),
        Step(
            name="prefill_tokens",
            value=sample.traffic.prefill_tokens,
            unit="tokens",
            source="increase of the prefill counters, re-counts of retracted requests left out",
        ),
    ]
    if constants is not None:
        slot, row = constants.state_bytes_per_slot, constants.kv_bytes_per_token
        steps.append(Step(name="state_bytes_per_slot", value=slot, unit="bytes", source=constants.origin))
        steps.append(Step(name="kv_bytes_per_token", value=row, unit="bytes", source=constants.origin))
        if sample.state_slots is not None:
            pool = (sample.state_slots + 1) * slot
            steps.append(Step(name="state_pool_bytes", value=pool, unit="bytes", source="(slots + 1) x bytes per slot"))
    if fit is not None:
        source = "(S + D) slots and the mean length of a request, over the bytes of both pools"
        steps.append(Step(name="fitting_ratio", value=fit.state_to_kv_ratio, unit="state : KV", source=source))
    return tuple(steps)


def comparison_document(row: Comparison) -> dict[str, Any]:
    """One predicted figure beside the measured one."""
    return {
        "name": row.name,
        "predicted": _figure(row.predicted),
        "measured": _figure(row.measured),
        "error_fraction": _round(row.error_fraction),
        "tolerance": row.tolerance,
        "ok": row.ok,
        "reason": row.reason,
    }


def fleet_document(fleet: Fleet) -> dict[str, Any]:
    """All replicas together."""
    place = fleet.tightest
    return {
        "replicas": fleet.replicas,
        "running": fleet.running,
        "queued": fleet.queued,
        "tightest": None
        if place is None
        else {**asdict(place), "reclaimable_fraction": _round(place.reclaimable_fraction)},
        "sessions_per_replica": [asdict(room) for room in fleet.rooms],
        "sessions_per_replica_reason": fleet.rooms_reason,
        "affine_sessions": fleet.affine_sessions,
        "scattered_sessions": fleet.scattered_sessions,
    }


def iso_time(time_s: float) -> str:
    """A moment in UTC, to the second."""
    return datetime.fromtimestamp(time_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rank(rank: RankReading) -> dict[str, Any]:
    return {
        "rank": rank.label,
        "role": rank.role or None,
        "running": rank.running,
        "queued": rank.queued,
        "state": _pool(rank.state),
        "kv": _pool(rank.kv),
        "window_kv": _pool(rank.window_kv),
        "state_usage_fraction": _round(rank.state_usage_fraction),
        "kv_usage_fraction": _round(rank.kv_usage_fraction),
        "live_context_tokens": rank.live_context_tokens,
        "host": None if rank.host is None else asdict(rank.host),
        "transfer_queues": None if rank.queues is None else asdict(rank.queues),
    }


def _pool(pool: PoolUse | None) -> Mapping[str, int] | None:
    return None if pool is None else {**asdict(pool), "capacity": pool.capacity}


def _figure(value: float | str | None) -> float | str | None:
    return _round(value) if isinstance(value, float) else value


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)
