"""One trace at one split under other options of the server: hits and running requests, one change at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.answers.trace_replay import document_of, replay_of
from poolsplit.engines.sglang.cache_flags import CACHE_LEVERS, cache_changes, cache_flags
from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InfeasiblePlanError, InputError
from poolsplit.replay.config import ReplayConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from poolsplit.answers.replay_request import ReplayRequest
    from poolsplit.answers.trace_replay import TraceReplay
    from poolsplit.replay.kernel.layout import World
    from poolsplit.traces.trace import Trace

_COUNTED = ("cached_tokens", "cached_fraction", "recomputed_tokens", "lost_to_state_tokens", "lost_to_kv_tokens",
            "running", "queue_wait_s", "retractions", "rejected", "unfinished", "binding", "wall_s")  # fmt: skip
"""What a priced lever says, by the names of a replay's document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLever:
    """One change to a replayed server."""

    name: str
    """Field and value, such as `max_states_per_path=3`."""
    flags: tuple[str, ...]
    """The same in the engine's words."""
    changes: Mapping[str, Any]
    """Fields of `replay.config.ReplayConfig`."""


def levers_of(server: Mapping[str, Any], version: str) -> tuple[CacheLever, ...]:
    """Every value worth a try that the server does not have yet.

    Raises:
        InputError: A release whose cache is not known, or options that cannot go together.
    """
    now = ReplayConfig(rules=cache_rules(version), **server)
    return tuple(
        CacheLever(
            name=f"{field}={'none' if value is None else value}",
            flags=cache_flags(field, value),
            changes=dict(cache_changes(field, value)),
        )
        for field, values in CACHE_LEVERS.items()
        for value in values
        if value != getattr(now, field)
    )


def priced(
    trace: Trace,
    request: ReplayRequest,
    levers: Sequence[CacheLever],
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """The replay as asked and each change to it, as one document. An interrupt keeps the replays that were whole.

    Args:
        trace: Requests with block ids.
        request: The server and the clock.
        levers: Changes, each replayed alone.
        progress: Takes the number of requests sent, over all replays.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: The server as asked runs out of a pool in the middle of a step.
    """
    as_asked = _replay(trace, request, {}, _look(progress, 0))
    base = document_of(as_asked, request)
    rows = [] if base["interrupted"] else list(_rows(trace, request, levers, base, progress))
    interrupted = len(rows) < len(levers)
    kept = ("command", "engine", "rules", "server", "server_origins", "host", "unified", "clock", "requests",
            "input_tokens", "kv_only_cached_fraction")  # fmt: skip
    cut = [f"interrupted: {len(rows)} of {len(levers)} changes were replayed"] if interrupted else []
    return {
        **{name: base[name] for name in kept},
        "current": {name: base[name] for name in _COUNTED},
        "levers": rows,
        "interrupted": interrupted,
        "warnings": [*base["warnings"], *cut],
        "derivation": base["derivation"],
    }


def _rows(
    trace: Trace,
    request: ReplayRequest,
    levers: Sequence[CacheLever],
    base: Mapping[str, Any],
    progress: Callable[[int], None] | None,
) -> Iterator[dict[str, Any]]:
    for number, lever in enumerate(levers, start=1):
        head = {"name": lever.name, "flags": list(lever.flags)}
        try:
            answer = _replay(trace, request, lever.changes, _look(progress, number * len(trace)))
        except KeyboardInterrupt:
            return
        except (InputError, InfeasiblePlanError) as error:
            yield {**head, "status": "refused", "reason": error.message}
            continue
        if answer.summary.interrupted:
            return
        found = document_of(answer, request)
        yield {
            **head,
            "status": "offered",
            "reason": None,
            **{name: found[name] for name in _COUNTED},
            "delta_cached_tokens": found["cached_tokens"] - base["cached_tokens"],
            "delta_running_mean": found["running"]["mean"] - base["running"]["mean"],
        }


def _replay(
    trace: Trace, request: ReplayRequest, changes: Mapping[str, Any], look: Callable[[World], None] | None
) -> TraceReplay:
    server = {**request.server, **changes}
    return replay_of(trace, version=request.version, server=server, pace=request.pace, progress=look)


def _look(progress: Callable[[int], None] | None, before: int) -> Callable[[World], None] | None:
    if progress is None:
        return None
    return lambda w: progress(before + int(w.now[0]["next_request"]))
