"""A surface on one screen: the answer first, then the map and how sure it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from poolsplit.report.derivation_text import derivation_block
from poolsplit.report.heat_map import heat_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEVEL = 0.02
"""A pool counts as worth more than the other from this much more of what a GiB gains."""


def surface_screen(document: Mapping[str, Any], *, color: bool, explain: bool) -> str:
    """The surface as text."""
    lines = [*_best(document), *_held(document), "", *heat_map(document, color=color), "", *_certainty(document)]
    if explain:
        lines += derivation_block(document)
    return "\n".join(lines)


def _best(document: Mapping[str, Any]) -> Iterator[str]:
    best, default = document["best"], document["default"]
    if best is None:
        yield f"reusable     {document['reusable_fraction']:.2%} of {document['input_tokens']:,} input tokens at most"
        yield "best split   unknown: give --budget, --state-bytes and --kv-bytes, or --plan"
        return
    yield f"best split   {best['state_slots']:,} state slots, {best['kv_tokens']:,} KV tokens"
    yield f"             states take {best['state_bytes_fraction']:.1%} of the bytes"
    most = document["reusable_fraction"]
    yield f"reused       {best['cached_fraction']:.2%}, of {most:.2%} possible ({best['method']})"
    yield f"default 0.9  {_against(default)}"
    if "current" in document:
        yield f"now          {_current(document['current'])}"
    gains = document["gradient"]
    state, kv = gains["state_tokens_per_gib"], gains["kv_tokens_per_gib"]
    yield f"next GiB     states {state:+,} tokens reused, KV {kv:+,}: {_worth(state, kv)}"
    if best["cliff"] is not None:
        more = best["cliff"]["recomputed_tokens_more"]
        cost = "the order no longer fits" if more is None else f"{more:,} tokens more are recomputed"
        yield f"cliff        with a slightly smaller {best['cliff']['pool']} pool {cost}"


def _against(rival: Mapping[str, Any]) -> str:
    if rival["regret_fraction"] is None:
        return f"does not serve this order: {rival['recomputed_tokens_reason']}"
    return f"recomputes {rival['regret_fraction']:+.1%} tokens"


def _current(current: Mapping[str, Any]) -> str:
    """The split as it stands: what it is, and what it does where the default does not say it."""
    sizes = f"{current['state_slots']:,} state slots, {current['kv_tokens']:,} KV tokens"
    if current["equals_default"]:
        return f"{sizes}: the default 0.9"
    beyond = "" if current["within_budget"] else ", and takes more than the budget"
    return f"{sizes}:\n             {_against(current)}{beyond}"


def _worth(state: int, kv: int) -> str:
    if max(state, kv) <= 0:
        return "neither pool gains"
    if abs(state - kv) <= _LEVEL * max(state, kv):
        return "both alike"
    return "give it to the state pool" if state > kv else "give it to the KV pool"


def _held(document: Mapping[str, Any]) -> Iterator[str]:
    held = document["held_by_running"]
    yield (
        f"running      {held['running_mean']:.1f} requests, p95 {held['running_p95']:.0f}: they hold "
        f"{held['slots_mean']:.0f} slots (p95 {held['slots_p95']:.0f})"
    )
    yield f"             and {held['tokens_mean']:,.0f} tokens (p95 {held['tokens_p95']:,.0f})"


def _certainty(document: Mapping[str, Any]) -> Iterator[str]:
    counts = Counter(method for row in document["method"] for method in row)
    yield "cells by     " + ", ".join(f"{method} {count}" for method, count in counts.most_common())
    worst = document["worst_error"]
    if worst is not None:
        yield (
            f"worst error  {worst['error_fraction']:+.2%} of input tokens, at {worst['state_slots']:,} slots and "
            f"{worst['kv_tokens']:,} tokens"
        )
    for found in document["confirmed"]:
        yield _confirmed_line(found)


def _confirmed_line(found: Mapping[str, Any]) -> str:
    where = f"{found['role']:<12} {found['state_slots']:,} / {found['kv_tokens']:,}"
    if found["scheduler_recomputed_tokens"] is None:
        return f"{where}: the scheduler cannot: {found['reason']}"
    text = f"{where}: scheduler recomputes {found['scheduler_recomputed_tokens']:,}"
    if found["ordered_recomputed_tokens"]:
        text += f" ({found['scheduler_recomputed_tokens'] / found['ordered_recomputed_tokens'] - 1:+.2%} to the replay)"
    return f"{text}, {found['running_mean']:.1f} running"
