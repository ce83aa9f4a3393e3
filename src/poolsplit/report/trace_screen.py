"""The facts of a trace on one screen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from poolsplit.report.derivation_text import derivation_block
from poolsplit.report.histogram import histogram

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def trace_screen(facts: Mapping[str, Any], lengths: Mapping[str, Sequence[int]], *, explain: bool) -> str:
    """The facts as text of at most 80 columns, with histograms of lengths.

    Args:
        facts: The document of `trace info`.
        lengths: Values to draw, by name.
        explain: Add how the figures come about.
    """
    lines = [*_head(facts), "", *_length_table(facts), "", *_reuse(facts), *_gaps(facts), *_live(facts)]
    for name, values in lengths.items():
        lines += ["", f"{name} tokens a request", *histogram(values)]
    if explain:
        lines += derivation_block(facts)
    return "\n".join(lines)


def _head(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"format    {facts['format']}, {facts['dialect']}, lengths {facts['lengths']}"
    sessions = facts["sessions"] if facts["sessions"] is not None else f"unknown: {facts['sessions_reason']}"
    yield f"requests  {facts['requests']:,}"
    yield f"sessions  {sessions:,}" if isinstance(sessions, int) else f"sessions  {sessions}"
    if facts["subagent_requests"]:
        yield f"of them in subagents  {facts['subagent_requests']:,}"
    span = facts["span_s"]
    yield f"span      {span:,.1f} s" if span is not None else f"span      unknown: {facts['span_s_reason']}"
    if facts["block_tokens"] is not None:
        yield f"blocks    {facts['block_tokens']} tokens, ids of one {facts['scope']}"


def _length_table(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'tokens':8}{'sum':>18}{'mean':>11}{'p50':>10}{'p90':>10}{'p99':>10}{'max':>11}"
    for name in ("input", "output"):
        row = facts[f"{name}_tokens"]
        mean, half, ninety, most = (nearest(row[key]) for key in ("mean", "p50", "p90", "p99"))
        yield f"{name:8}{row['sum']:>18,}{mean:>11,}{half:>10,}{ninety:>10,}{most:>10,}{row['max']:>11,}"


def nearest(value: float) -> int:
    """The nearest whole number; a half goes up."""
    return math.floor(value + 0.5)


def _reuse(facts: Mapping[str, Any]) -> Iterator[str]:
    reuse = facts["infinite_reuse_fraction"]
    if reuse is None:
        yield f"reuse     unknown: {facts['infinite_reuse_fraction_reason']}"
        return
    yield f"reuse     {reuse:.2%} of input tokens with an unlimited cache; {facts['unique_tokens']:,} are new"
    shared = facts.get("shared_between_sessions_fraction")
    if shared is not None:
        yield f"          {shared:.2%} of input tokens come from other sessions"
    spread = facts.get("session_reuse_fraction")
    if spread:
        yield f"          by session: median {spread['p50']:.2%}, mean {spread['mean']:.2%}"


def _gaps(facts: Mapping[str, Any]) -> Iterator[str]:
    gap = facts["gap_s"]
    if gap:
        parts = ", ".join(f"{key} {gap[key]:,.1f} s" for key in ("p50", "p90", "p99", "max"))
        yield f"gaps      {parts}"
    span = facts["session_span_s"]
    if span:
        yield f"session   lasts p50 {span['p50']:,.0f} s, p90 {span['p90']:,.0f} s"
    context = facts["session_context_tokens"]
    if context:
        yield f"          reaches p50 {context['p50']:,.0f}, p90 {context['p90']:,.0f} tokens"


def _live(facts: Mapping[str, Any]) -> Iterator[str]:
    profile = facts["live_context"]
    if profile["windows"] is None:
        yield f"alive     unknown: {profile['reason']}"
        return
    for row in profile["windows"]:
        yield (
            f"alive     kept {row['window_s']:>6,} s: mean {row['mean_tokens']:>14,.0f} tokens,"
            f" peak {row['peak_tokens']:>13,}"
        )
