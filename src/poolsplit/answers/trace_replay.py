"""Joins a trace that was read, the engine's cache law and the replay, and writes what came out as one document."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.answers.replay_host import NOT_VERIFIED, VERIFIED
from poolsplit.answers.replay_unified import UNIFIED_NOT_VERIFIED, UNIFIED_VERIFIED
from poolsplit.derivation import Step, step_documents
from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.rates import MeasuredRates, beyond
from poolsplit.replay.trace_columns import TraceColumns
from poolsplit.replay.trace_run import Pace, replay_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.answers.replay_request import ReplayRequest
    from poolsplit.replay.kernel.layout import World
    from poolsplit.replay.summary import TraceSummary
    from poolsplit.traces.trace import Trace

_GROW = {
    "state": "the state pool: reuse is lost to evicted states",
    "kv": "the KV pool: reuse is lost to evicted KV",
    "concurrency": "the state pool: as many requests run as its slots allow",
    "nothing": "neither pool",
}
_GROW_HOST = {
    "state": "the host's states, or the state pool: reuse is lost to states that left both tiers",
    "kv": "the host's KV, or the KV pool: reuse is lost to KV that left both tiers",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReplay:
    """One replay of one trace, with what it rests on."""

    config: ReplayConfig
    pace: Pace
    summary: TraceSummary
    warnings: tuple[str, ...]


def replay_of(
    trace: Trace,
    *,
    version: str,
    server: Mapping[str, Any],
    pace: Mapping[str, Any],
    progress: Callable[[World], None] | None = None,
) -> TraceReplay:
    """Replays a trace at one split.

    Args:
        trace: Requests with block ids.
        version: Release whose cache law is followed, or `next`.
        server: Fields of `ReplayConfig`.
        pace: Fields of `Pace`.
        progress: Called now and then with the world as it is.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.
    """
    block_tokens = trace.require_blocks("a replay")
    asked = Pace(**pace)
    if asked.clock == "recorded":
        trace.require_clock("a replay by recorded arrivals")
    longest = int((trace.input_tokens + trace.output_tokens).max(initial=0))
    options = {"max_context_tokens": longest + 8, **server}
    config = ReplayConfig(rules=cache_rules(version), **options)
    summary = replay_trace(config, _columns(trace, block_tokens), asked, progress=progress)
    return TraceReplay(config=config, pace=asked, summary=summary, warnings=_warnings(trace, config, asked, summary))


def document_of(answer: TraceReplay, request: ReplayRequest) -> dict[str, Any]:
    """The replay as one JSON object, with where the request had its server and its rates from."""
    config, summary, measured = answer.config, answer.summary, request.measured
    beyond_log = beyond(measured.decode, [summary.running["max"]]) if measured.decode else ()
    tokens = max(1, summary.input_tokens)
    return {
        "command": "replay",
        "engine": {"name": config.rules.engine, "version": config.rules.version},
        "rules": asdict(config.rules),
        "server": {k: v for k, v in asdict(config).items() if k not in {"rules", "host", "unified"}},
        "server_origins": request.origins,
        "clock": {"mode": answer.pace.clock, "sessions": answer.pace.sessions,
                  "prefill_tokens_per_s": answer.pace.prefill_tokens_per_s,
                  "decode_tokens_per_s": [list(pair) for pair in answer.pace.decode_tokens_per_s],
                  "rates_from": measured.log,
                  "prefill_lines": measured.prefill.lines if measured.prefill else None,
                  "decode_lines": measured.decode.lines if measured.decode else None},
        "requests": summary.requests,
        "input_tokens": summary.input_tokens,
        "cached_tokens": summary.cached_tokens,
        "cached_fraction": summary.cached_tokens / tokens,
        "recomputed_tokens": summary.input_tokens - summary.cached_tokens,
        "kv_only_cached_fraction": summary.kv_only_tokens / tokens,
        "kv_matched_tokens": summary.kv_matched_tokens,
        "lost_to_state_tokens": summary.losses.to_state,
        "lost_to_kv_tokens": summary.losses.to_kv,
        "lost_to_placement_tokens": summary.losses.to_placement,
        "lost_to_length_tokens": summary.losses.to_length,
        "running": summary.running,
        "queue_wait_s": summary.queue_wait_s,
        **({} if summary.wall_s is not None else {"queue_wait_s_reason": "without rates there is no clock"}),
        "retractions": summary.retractions,
        "aborted": summary.aborted,
        "rejected": summary.rejected,
        "unfinished": summary.unfinished,
        "state_peak": summary.state_peak,
        "kv_peak": summary.kv_peak,
        "evictions": {"kv_tokens": summary.kv_evicted, "states": summary.states_evicted,
                      "states_by_path_cap": summary.cap_states_evicted},
        "waits": {"for_cap": summary.waits_for_cap, "for_room": summary.waits_for_room},
        "host": _host(answer),
        **({} if summary.host is not None else {"host_reason": "no host tier is asked for"}),
        "unified": _unified(config),
        **({} if config.unified is not None else {"unified_reason": "both pools are apart"}),
        "steps": summary.steps,
        "wall_s": summary.wall_s,
        **({} if summary.wall_s is not None else {"wall_s_reason": "without rates there is no clock"}),
        "interrupted": summary.interrupted,
        "binding": summary.binding,
        "grow": (_GROW if summary.host is None else {**_GROW, **_GROW_HOST})[summary.binding],
        "warnings": [*answer.warnings, *beyond_log],
        "derivation": step_documents((*_steps(config), *_rate_steps(measured))),
    }  # fmt: skip


def _host(answer: TraceReplay) -> dict[str, Any] | None:
    tier, figures = answer.config.host, answer.summary.host
    if tier is None or figures is None:
        return None
    return {
        **asdict(tier),
        **asdict(figures.traffic),
        "state_peak": figures.state_peak,
        "kv_peak": figures.kv_peak,
        "verified": VERIFIED,
        "not_verified": NOT_VERIFIED,
    }


def _unified(config: ReplayConfig) -> dict[str, Any] | None:
    if config.unified is None or config.buffer is None:
        return None
    return {
        **asdict(config.unified),
        "total_bytes": config.buffer.total_bytes,
        "state_slots_at_most": config.buffer.state_ids,
        "kv_tokens_at_most": config.buffer.kv_tokens,
        "verified": UNIFIED_VERIFIED,
        "not_verified": UNIFIED_NOT_VERIFIED,
    }


def _columns(trace: Trace, block_tokens: int) -> TraceColumns:
    return TraceColumns(
        block_tokens=block_tokens,
        parent=trace.parent,
        kept_blocks=trace.kept_blocks,
        new_blocks=trace.new_blocks,
        first_block=trace.first_block,
        input_tokens=trace.input_tokens,
        output_tokens=trace.output_tokens,
        after=trace.after,
        previous=trace.previous,
        session=trace.session,
        arrival_s=trace.arrival_s,
        think_s=trace.think_s,
    )


def _warnings(trace: Trace, config: ReplayConfig, pace: Pace, summary: TraceSummary) -> tuple[str, ...]:
    import numpy as np

    found = []
    if config.rules.evidence != "run":
        source = "its source" if config.rules.evidence == "read" else "documentation"
        found.append(f"the cache law of {config.rules.version} is from {source}, not verified against the engine")
    if config.host is not None:
        found.append(f"host tier {NOT_VERIFIED}")
    if config.unified is not None:
        found.append(f"unified memory {UNIFIED_NOT_VERIFIED}")
    untimed = int((np.isnan(trace.think_s) & (trace.after >= 0)).sum())
    if pace.clock == "closed" and untimed:
        found.append(f"{untimed} requests have no recorded think time and follow at once")
    if summary.rejected:
        found.append(f"{summary.rejected} requests are longer than the server takes and were rejected")
    if summary.interrupted:
        found.append(f"interrupted: {summary.unfinished} requests had not ended, the figures cover the rest")
    elif summary.unfinished:
        found.append(f"{summary.unfinished} requests could never be admitted, or stood behind one that could not")
    return tuple(found)


def _steps(config: ReplayConfig) -> list[Step]:
    law = f"cache law of {config.rules.engine} {config.rules.version} ({config.rules.evidence})"
    return [
        Step(name="slots_per_request", value=config.slots_per_request, unit="slots", source=law),
        Step(name="running_cap", value=config.running_cap, unit="requests", source="state slots // slots per request"),
        Step(name="checkpoint_grid", value=config.checkpoint_grid_tokens, unit="tokens", source=law),
        Step(name="track_grid", value=config.track_grid_tokens, unit="tokens", source=law),
        Step(name="new_token_ratio", value=config.first_new_token_ratio, unit="ratio", source=law),
    ]


def _rate_steps(measured: MeasuredRates) -> list[Step]:
    """Rates that a log gave, with the lines that they stand on."""
    steps = []
    if measured.prefill:
        source = f"median of {measured.prefill.lines} full prefill batches in {measured.log}"
        steps.append(Step(name="prefill_rate", value=measured.prefill.tokens_per_s, unit="tokens/s", source=source))
    if measured.decode:
        source = f"{measured.decode.lines} decode lines in {measured.log}, medians by running requests"
        for running, rate in measured.decode.tokens_per_s:
            steps.append(Step(name=f"decode_rate_at_{running}", value=rate, unit="tokens/s", source=source))
    return steps
