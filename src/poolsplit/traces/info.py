"""What a trace holds: lengths, reuse, sharing, live contexts and gaps, each with the reason where it is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.traces.live_context import live_context_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from poolsplit.traces.trace import Floats, Ints, Trace

PERCENTILES = (50, 90, 99)
GAP_PERCENTILES = (10, 25, 50, 75, 90, 99)


def describe(trace: Trace) -> dict[str, Any]:
    """The facts of a trace by the names of the command line's JSON.

    Percentiles interpolate linearly between the two nearest values.
    """
    span_s, span_reason = _span(trace)
    facts: dict[str, Any] = {
        "format": trace.origin.format,
        "dialect": trace.origin.dialect,
        "lengths": trace.origin.lengths,
        "clock": trace.origin.clock,
        "requests": len(trace),
        "sessions": trace.sessions if trace.origin.sessions_known else None,
        "input_tokens": lengths(trace.input_tokens),
        "output_tokens": lengths(trace.output_tokens),
        "span_s": span_s,
        "block_tokens": trace.block_tokens,
        "scope": _scope(trace),
        "subagent_requests": int(np.count_nonzero(trace.agent)),
    }
    if not trace.origin.sessions_known:
        facts["sessions_reason"] = "the trace does not say which requests belong together"
    if span_reason:
        facts["span_s_reason"] = span_reason
    facts |= _sharing(trace)
    facts["session_span_s"] = _spread(_session_spans(trace)) if trace.origin.sessions_known else None
    facts["session_context_tokens"] = _spread(_peak_contexts(trace)) if trace.origin.sessions_known else None
    facts["gap_s"] = _spread(_gaps(trace), GAP_PERCENTILES)
    facts["live_context"] = live_context_profile(trace)
    return facts


def lengths(tokens: Ints) -> dict[str, float | int]:
    """Sum, mean, percentiles and maximum of token counts.

    Shapes:
        tokens: (requests,), at least one
    """
    half, ninety, ninety_nine = (float(value) for value in np.percentile(tokens, PERCENTILES))
    return {
        "sum": int(tokens.sum()),
        "mean": float(tokens.mean()),
        "p50": half,
        "p90": ninety,
        "p99": ninety_nine,
        "max": int(tokens.max()),
    }


def reused_tokens(trace: Trace) -> Ints:
    """Prompt tokens of each request that some earlier request of its scope has had: an unlimited cache of prompts.

    Shapes:
        result: (requests,)

    Source: the leading run of known block ids, in tokens, at most the prompt. Held by tests/golden/test_traces.py.

    Known error: generated tokens count only when a later prompt sends them back.
    """
    block_tokens = trace.require_blocks("reuse")
    return np.minimum(trace.kept_blocks * block_tokens, trace.input_tokens)


def _scope(trace: Trace) -> str:
    scopes = int(trace.scope.max()) + 1 if len(trace) else 0
    if trace.block_tokens is None:
        return "none"
    if scopes <= 1:
        return "trace"
    return "session" if scopes == trace.sessions else "file"


def _sharing(trace: Trace) -> dict[str, Any]:
    if trace.block_tokens is None:
        reason = "the trace has lengths only: nothing says which prompts share a prefix"
        return {
            "infinite_reuse_fraction": None,
            "infinite_reuse_fraction_reason": reason,
            "unique_tokens": None,
            "unique_tokens_reason": reason,
        }
    reused = reused_tokens(trace)
    total = int(trace.input_tokens.sum())
    facts: dict[str, Any] = {
        "infinite_reuse_fraction": float(reused.sum()) / total if total else 0.0,
        "unique_tokens": total - int(reused.sum()),
        "unique_blocks": int(trace.new_blocks.sum()),
    }
    if trace.origin.sessions_known:
        facts["session_reuse_fraction"] = _spread(_by_session(trace, reused))
        facts["shared_between_sessions_fraction"] = _shared_between_sessions(trace, reused)
    return facts


def _by_session(trace: Trace, reused: Ints) -> Floats:
    tokens = np.bincount(trace.session, weights=trace.input_tokens)
    share: Floats = np.bincount(trace.session, weights=reused)[tokens > 0] / tokens[tokens > 0]
    return share


def _shared_between_sessions(trace: Trace, reused: Ints) -> float:
    """Share of all prompt tokens that were reused and that another session had brought in first.

    Each kept prefix is a path of earlier rows' ranges; the blocks of ranges that another session made count.
    """
    if trace.scope.max() + 1 == trace.sessions:
        return 0.0
    foreign = foreign_blocks(trace)
    block_tokens = trace.require_blocks("sharing between sessions")
    tokens = np.minimum(foreign * block_tokens, reused)
    return float(tokens.sum()) / max(int(trace.input_tokens.sum()), 1)


def foreign_blocks(trace: Trace) -> Ints:
    """Kept blocks of each row that rows of other sessions made.

    Shapes:
        result: (requests,)
    """
    session, parent, kept = trace.session.tolist(), trace.parent.tolist(), trace.kept_blocks.tolist()
    foreign = [0] * len(trace)
    for row in range(len(trace)):
        end, before = kept[row], parent[row]
        while before >= 0:
            if session[before] == session[row]:
                # NOTE: what the parent kept of others, it kept for this row too, and its own blocks are this session's.
                foreign[row] += foreign[before]
                break
            foreign[row] += end - kept[before]
            end, before = kept[before], parent[before]
    return np.array(foreign, dtype=np.int64)


def _span(trace: Trace) -> tuple[float | None, str]:
    if trace.origin.clock == "trace":
        return float(trace.arrival_s.max() - trace.arrival_s.min()), ""
    if trace.origin.clock == "session":
        return None, "each session counts time from its own start; see session_span_s"
    return None, "the trace has an order and no times"


def _session_spans(trace: Trace) -> Floats:
    if trace.origin.clock == "order":
        return np.zeros(0)
    first = np.full(trace.sessions, np.inf)
    last = np.full(trace.sessions, -np.inf)
    np.minimum.at(first, trace.session, trace.arrival_s)
    np.maximum.at(last, trace.session, trace.arrival_s)
    spans: Floats = last - first
    return spans


def _gaps(trace: Trace) -> Floats:
    """Pauses of clients inside a conversation; when a subagent starts is not one."""
    spawned = (trace.agent > 0) & (trace.agent[np.maximum(trace.after, 0)] != trace.agent)
    pauses: Floats = trace.think_s[~np.isnan(trace.think_s) & ~spawned]
    return pauses


def _peak_contexts(trace: Trace) -> Floats:
    """Largest prompt with its answer of each session."""
    peak = np.zeros(trace.sessions)
    np.maximum.at(peak, trace.session, (trace.input_tokens + trace.output_tokens).astype(np.float64))
    return peak


def _spread(values: Floats, percentiles: tuple[int, ...] = PERCENTILES) -> dict[str, float | int] | None:
    if not values.size:
        return None
    at: NDArray[np.float64] = np.percentile(values, percentiles)
    named = {f"p{percentile}": float(value) for percentile, value in zip(percentiles, at, strict=True)}
    return {"count": int(values.size), "mean": float(values.mean()), **named, "max": float(values.max())}
