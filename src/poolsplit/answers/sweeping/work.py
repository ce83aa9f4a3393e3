"""One point of a sweep: a trace at one split, by the ordered replay or by the whole scheduler."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from poolsplit.answers.cache_words import cache_fields
from poolsplit.answers.replay_host import HOST_WORDS, NOT_VERIFIED, host_of
from poolsplit.answers.surfaces.confirm import SERVER_FIELDS, scheduler_pace
from poolsplit.answers.surfaces.ground import ground_of, serves_nobody
from poolsplit.answers.surfaces.request import DEFAULT_VERSION, timing_of
from poolsplit.errors import InfeasiblePlanError, InputError, UsageError
from poolsplit.surface.cells import Split

if TYPE_CHECKING:
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.replay.host_pools import HostPools
    from poolsplit.replay.summary import TraceSummary
    from poolsplit.sweep.grid import Point
    from poolsplit.traces.trace import Trace

AXES: dict[str, str] = {
    "trace": "file of a trace, or `synth:PRESET` with parameters as `synth:agent:requests=500`",
    "seed": "seed of a made trace",
    "state_slots": "usable slots of the state pool",
    "kv_tokens": "tokens of the KV pool",
    "budget_bytes": "bytes of both pools; with state_to_kv_ratio, state_bytes and kv_bytes instead of their sizes",
    "state_to_kv_ratio": "bytes of states over bytes of KV",
    "state_bytes": "bytes of one state slot",
    "kv_bytes": "bytes of one KV token",
    "strategy": "where checkpoints come from",
    "page_size": "tokens of a page",
    "chunked_prefill_size": "new tokens of one prefill batch",
    "track_interval": "tokens between two decode snapshots",
    "state_chunk": "tokens between two states of the recurrent kernel",
    "max_states_per_path": "soft cap on the states of a path; 0 is none",
    "engine_version": "release whose cache law is followed",
    "mode": "order, closed or recorded",
    "sessions": "open sessions, or requests outstanding",
    "prefill_tokens_per_s": "speed of prompts",
    "decode_tokens_per_s": "speed of one answer",
    "hicache_ratio": "host tier as many times both device pools; 0 is none; by the scheduler only",
    "host_state_slots": "states that the host keeps, with host_kv_tokens",
    "host_kv_tokens": "KV tokens that the host keeps",
    "hicache_write_policy": "write_through, write_through_selective or write_back",
    "replay": "ordered (fast, no admission) or scheduler",
}
"""What can be swept."""


def run_point(point: Point) -> dict[str, Any]:
    """The result of one point: the same wherever it is run.

    Raises:
        InputError: A trace or an option that cannot be replayed.
        KeyboardInterrupt: The scheduler was stopped in the middle: half a replay is no result.
    """
    ground = _ground(tuple(sorted((k, v) for k, v in point.items() if k not in _SIZES)))
    slots, tokens = _sizes(point)
    split = Split(state_slots=slots, kv_tokens=tokens)
    if point.get("replay", "ordered") == "scheduler":
        return _scheduled(ground, split, _host(point, split))
    if any(word in point for word in HOST_WORDS):
        raise UsageError("the ordered replay has no host tier", hint="--set replay=scheduler")
    outcome = ground.replays.one(split)
    return _result(ground, split, outcome.cached_tokens if outcome.fits else None, _does_not_fit(outcome.out_of))


def _host(point: Point, split: Split) -> HostPools | None:
    """The host tier of a point; a ratio of 0 is none, so that one axis can hold both."""
    if point.get("hicache_ratio") == 0:
        return None
    return host_of(point, {"state_slots": split.state_slots, "kv_tokens": split.kv_tokens}, {})


def _does_not_fit(pool: str | None) -> str:
    return f"what runs at once does not fit: {pool}"


_SIZES = {"state_slots", "kv_tokens", "budget_bytes", "state_to_kv_ratio", "state_bytes", "kv_bytes", "replay",
          *HOST_WORDS}  # fmt: skip


def _sizes(point: Point) -> tuple[int, int]:
    if "budget_bytes" in point:
        from poolsplit.surface.line import Budget

        ratio = float(_wanted(point, "state_to_kv_ratio"))
        if not 0 < ratio < math.inf:
            raise InputError(f"the ratio of states to KV is {ratio}", hint="give one above zero, such as 0.9")
        budget = Budget(
            total_bytes=int(point["budget_bytes"]),
            state_bytes=int(_wanted(point, "state_bytes")),
            kv_bytes=float(_wanted(point, "kv_bytes")),
        )
        split = budget.split_at(ratio / (1 + ratio))
        return split.state_slots, split.kv_tokens
    return int(_wanted(point, "state_slots")), int(_wanted(point, "kv_tokens"))


def _wanted(point: Point, name: str) -> Any:
    if name not in point:
        raise UsageError(f"a sweep needs `{name}`", hint=f"{AXES[name]}: --set {name}=...")
    return point[name]


def _result(ground: Ground, split: Split, cached: int | None, reason: str) -> dict[str, Any]:
    total = ground.input_tokens
    return {
        "state_slots": split.state_slots,
        "kv_tokens": split.kv_tokens,
        "requests": len(ground.tree),
        "input_tokens": total,
        "cached_tokens": cached,
        "cached_fraction": None if cached is None else cached / max(1, total),
        "recomputed_tokens": None if cached is None else total - cached,
        "cached_tokens_reason": None if cached is not None else reason,
    }


def _scheduled(ground: Ground, split: Split, host: HostPools | None) -> dict[str, Any]:
    from poolsplit.answers.trace_replay import replay_of

    pace, reason = scheduler_pace(ground)
    if pace is None:
        raise InputError(reason or "the scheduler cannot keep this clock", hint="give both rates, or replay in order")
    server = {name: getattr(ground.config, name) for name in SERVER_FIELDS}
    server |= {"state_slots": split.state_slots, "kv_tokens": split.kv_tokens, "host": host}
    short_of = serves_nobody(ground.config, split)
    if short_of is not None:
        return _result(ground, split, None, _does_not_fit(short_of))
    try:
        summary = replay_of(ground.trace, version=ground.config.rules.version, server=server, pace=pace).summary
    except InfeasiblePlanError as error:
        return _result(ground, split, None, _does_not_fit(error.message))
    if summary.interrupted:
        raise KeyboardInterrupt
    return {
        **_result(ground, split, summary.cached_tokens, ""),
        **({} if host is None else _host_figures(host, summary)),
        "running_mean": summary.running["mean"],
        "retractions": summary.retractions,
        "rejected": summary.rejected,
        "unfinished": summary.unfinished,
    }


def _host_figures(host: HostPools, summary: TraceSummary) -> dict[str, Any]:
    loaded = summary.host and summary.host.traffic.loaded_tokens
    return {
        "host_state_slots": host.state_slots,
        "host_kv_tokens": host.kv_tokens,
        "host_loaded_tokens": loaded,
        "host_not_verified": NOT_VERIFIED,
    }


@lru_cache(maxsize=4)
def _ground(items: tuple[tuple[str, Any], ...]) -> Ground:
    point = dict(items)
    server = cache_fields(point)
    if server.get("max_states_per_path") == 0:
        del server["max_states_per_path"]
    pace = {name: point.get(name) for name in ("sessions", "prefill_tokens_per_s", "decode_tokens_per_s")}
    return ground_of(
        _trace(str(_wanted(point, "trace")), point.get("seed")),
        version=str(point.get("engine_version", DEFAULT_VERSION)),
        server=server,
        timing=timing_of({"mode": point.get("mode", "order"), **pace}),
    )


@lru_cache(maxsize=2)
def _trace(name: str, seed: int | None) -> Trace:
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.synthetic import synthesise

    if not name.startswith("synth:"):
        if seed is not None:
            raise UsageError("a seed belongs to a made trace", hint="--set trace=synth:agent")
        return read_trace([name], ReadOptions())
    preset, *given = name.removeprefix("synth:").split(":")
    pairs = [part.partition("=") for part in given]
    parameters = {key.replace("-", "_"): value for key, _, value in pairs}
    return synthesise(preset, seed=1 if seed is None else seed, parameters=parameters)[0]
