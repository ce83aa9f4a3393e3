"""The priced levers of a replay on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.report.columns import columns
from poolsplit.report.derivation_text import derivation_block

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = ("change", "reused", "points", "lost to state", "to KV", "running", "note")
_NUMBERS = (1, 2, 3, 4, 5)


def lever_screen(facts: Mapping[str, Any], *, explain: bool) -> str:
    """The document of priced levers as a table: shares of the input tokens, mean running requests."""
    server, tokens = facts["server"], max(1, facts["input_tokens"])
    now = facts["current"]
    head = f"split     {server['state_slots']:,} state slots, {server['kv_tokens']:,} KV tokens, {server['strategy']}"
    asked = ("as asked", *_figures(now, now, tokens), _trouble(now))
    table = columns(_HEADER, [asked, *(_row(row, now, tokens) for row in facts["levers"])], right=_NUMBERS)
    alone = f"KV alone would promise {facts['kv_only_cached_fraction']:.2%}"
    return "\n".join([head, "", table, "", alone, *(derivation_block(facts) if explain else ())])


def _row(row: Mapping[str, Any], now: Mapping[str, Any], tokens: int) -> tuple[str, ...]:
    if row["status"] == "refused":
        return (row["name"], "-", "-", "-", "-", "-", f"refused: {row['reason']}")
    return (row["name"], *_figures(row, now, tokens), _trouble(row))


def _figures(row: Mapping[str, Any], now: Mapping[str, Any], tokens: int) -> tuple[str, ...]:
    change = row["cached_fraction"] - now["cached_fraction"]
    return (
        f"{row['cached_fraction']:.2%}",
        f"{100 * change:+.2f}",
        f"{row['lost_to_state_tokens'] / tokens:.2%}",
        f"{row['lost_to_kv_tokens'] / tokens:.2%}",
        f"{row['running']['mean']:.1f}",
    )


def _trouble(row: Mapping[str, Any]) -> str:
    counts = [f"{row[name]:,} {name}" for name in ("retractions", "rejected", "unfinished") if row[name]]
    return ", ".join(counts)
