"""A gate's answer for people; made from its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.report.columns import columns

if TYPE_CHECKING:
    from collections.abc import Mapping


def gate_text(document: Mapping[str, Any]) -> str:
    """One row a condition, then the verdict."""
    rows = [
        ("ok" if row["ok"] else "no", row["name"], row["want"], _got(row["got"]), row["reason"] or "")
        for row in document["checks"]
    ]
    verdict = "every condition holds" if document["ok"] else "not every condition holds"
    return columns(("", "condition", "want", "got", ""), rows) + f"\n{document['target']}: {verdict}"


def _got(value: float | str | None) -> str:
    return "unknown" if value is None else str(value)
