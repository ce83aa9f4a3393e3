"""How many tokens of context are alive at once: the working set that a cache keeping idle sessions for W needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from poolsplit.traces.trace import Floats, Ints, Trace

WINDOWS_S = (60, 300, 1800, 3600, 14400)


def live_context_profile(trace: Trace) -> dict[str, Any]:
    """Tokens alive for each window W: a context lives from its request until W seconds after, or its next turn.

    A context is the prompt and the answer of the last request of one conversation: a session's main line or one of its
    subagents. Where sessions are not known, a request goes on from the one whose whole prompt it begins with. Prefixes
    shared between conversations count in each of them, so this is an upper bound.

    Needs arrival times on one clock; otherwise the figures are null with the reason.
    """
    if trace.origin.clock != "trace":
        return {"windows": None, "reason": "sessions have no common clock, so nothing says what is alive at once"}
    if not trace.origin.sessions_known and trace.block_tokens is None:
        return {"windows": None, "reason": "the trace does not say which requests belong together"}
    ends = _next_turn(trace) if trace.origin.sessions_known else _next_extension(trace)
    tokens = trace.input_tokens + trace.output_tokens
    return {"windows": [_window(trace.arrival_s, ends, tokens, window_s) for window_s in WINDOWS_S]}


def _next_turn(trace: Trace) -> Floats:
    """Arrival of the next request of the same conversation; infinity after the last."""
    conversation = np.unique(np.stack([trace.session, trace.agent]), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((np.arange(len(trace)), conversation))
    ends = np.full(len(trace), np.inf)
    same = conversation[order[:-1]] == conversation[order[1:]]
    ends[order[:-1][same]] = trace.arrival_s[order[1:][same]]
    return ends


def _next_extension(trace: Trace) -> Floats:
    """Arrival of the first request that begins with the whole prompt of each; infinity where there is none."""
    whole = trace.input_tokens // trace.require_blocks("live contexts")
    rows = np.flatnonzero(trace.parent >= 0)
    rows = rows[trace.kept_blocks[rows] >= np.maximum(whole[trace.parent[rows]], 1)]
    ends = np.full(len(trace), np.inf)
    np.minimum.at(ends, trace.parent[rows], trace.arrival_s[rows])
    return ends


def _window(starts: Floats, next_turn: Floats, tokens: Ints, window_s: int) -> dict[str, float | int]:
    ends = np.minimum(starts + window_s, next_turn)
    times = np.concatenate([starts, ends])
    steps = np.concatenate([tokens, -tokens])
    ones = np.concatenate([np.ones_like(tokens), -np.ones_like(tokens)])
    order = np.lexsort((steps, times))
    times = times[order]
    alive = np.cumsum(steps[order])[:-1]
    contexts = np.cumsum(ones[order])[:-1]
    spans = np.diff(times)
    total = float(spans.sum())
    mean = float((alive * spans).sum() / total) if total else float(tokens.mean())
    return {
        "window_s": window_s,
        "mean_tokens": mean,
        "peak_tokens": int(alive.max(initial=0)),
        "peak_contexts": int(contexts.max(initial=0)),
    }
