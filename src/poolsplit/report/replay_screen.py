"""One replay of a trace on one screen."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

from poolsplit.report.derivation_text import derivation_block
from poolsplit.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HANGING = " " * 10
_COLUMNS = 80
_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60


def replay_screen(facts: Mapping[str, Any], timeline: Sequence[Mapping[str, float]], *, explain: bool) -> str:
    """The document of `replay` as text of at most 80 columns, with both pools over time when there is a timeline."""
    lines = [*_head(facts), "", *_reuse(facts), "", *_pools(facts), *_curves(timeline), "", *_verdict(facts)]
    if explain:
        lines += derivation_block(facts)
    return "\n".join(lines)


def _indented(text: str) -> Iterator[str]:
    """A sentence under a name, in as many lines as it takes."""
    yield from wrap(text, _COLUMNS, initial_indent=_HANGING, subsequent_indent=_HANGING)


def _head(facts: Mapping[str, Any]) -> Iterator[str]:
    server, clock = facts["server"], facts["clock"]
    law = f"{facts['engine']['name']} {facts['engine']['version']}, {facts['rules']['evidence']}"
    yield f"split     {server['state_slots']:,} state slots, {server['kv_tokens']:,} KV tokens, {server['strategy']}"
    yield from _host(facts["host"])
    if facts["unified"] is not None:
        yield f"unified   one buffer of {format_size(facts['unified']['total_bytes'])} for both pools"
        yield from _indented(facts["unified"]["not_verified"])
    yield from _origins(facts["server_origins"])
    yield f"rules     {law}"
    yield (
        f"clock     {clock['mode']}, {clock['sessions']} at a time"
        if clock["mode"] != "recorded"
        else "clock     recorded"
    )
    yield f"requests  {facts['requests']:,}, {facts['input_tokens']:,} input tokens"


def _host(host: Mapping[str, Any] | None) -> Iterator[str]:
    if host is None:
        return
    yield f"host      {host['state_slots']:,} states, {host['kv_tokens']:,} KV tokens, {host['write_policy']}"
    yield f"          loaded back {host['loaded_states']:,} states, {host['loaded_tokens']:,} KV tokens"
    yield f"          peaks {host['state_peak']:,} states, {host['kv_peak']:,} KV tokens"
    yield from _indented(host["not_verified"])


def _origins(origins: Mapping[str, str]) -> Iterator[str]:
    """What a plan gave; with no plan everything is on the line."""
    planned = [word for word, origin in origins.items() if origin != "command line"]
    if planned:
        yield from _indented(f"from the plan: {', '.join(planned)}")


def _reuse(facts: Mapping[str, Any]) -> Iterator[str]:
    tokens = max(1, facts["input_tokens"])
    rows = (
        ("reused", facts["cached_tokens"]),
        ("recomputed", facts["recomputed_tokens"]),
        ("lost to evicted states", facts["lost_to_state_tokens"]),
        ("lost to evicted KV", facts["lost_to_kv_tokens"]),
        ("lost to placement", facts["lost_to_placement_tokens"]),
        ("lost to the length rule", facts["lost_to_length_tokens"]),
    )
    for name, count in rows:
        yield f"{name:<24} {count:>16,} tokens  {count / tokens:>7.2%}"
    yield f"{'KV alone would promise':<24} {'':>16}         {facts['kv_only_cached_fraction']:>7.2%}"


def _pools(facts: Mapping[str, Any]) -> Iterator[str]:
    running, evictions = facts["running"], facts["evictions"]
    yield f"running   mean {running['mean']:.1f}, p50 {running['p50']}, p90 {running['p90']}, max {running['max']}"
    yield f"peaks     {facts['state_peak']:,} state slots, {facts['kv_peak']:,} KV tokens"
    yield f"evicted   {evictions['states']:,} states, {evictions['kv_tokens']:,} KV tokens"
    if facts["queue_wait_s"] is not None:
        yield f"queue     {facts['queue_wait_s']:.2f} s mean wait, {facts['wall_s']:,.0f} s in all"
    counts = ", ".join(f"{facts[name]:,} {name}" for name in ("retractions", "aborted", "rejected", "unfinished"))
    yield f"trouble   {counts}"


def _curves(timeline: Sequence[Mapping[str, float]]) -> Iterator[str]:
    if not timeline:
        return
    yield ""
    for name in ("state_used_fraction", "kv_used_fraction"):
        step = max(1, len(timeline) // _WIDTH)
        values = [point[name] for point in timeline[::step]][:_WIDTH]
        bars = "".join(_BARS[min(len(_BARS) - 1, int(value * (len(_BARS) - 1) + 0.5))] for value in values)
        yield f"{name.removesuffix('_used_fraction'):<6} |{bars}|"


def _verdict(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"binding   {facts['binding']}"
    yield f"grow      {facts['grow']}"
