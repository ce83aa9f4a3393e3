"""A gate's answer for people; made from its JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.report.columns import columns
from poolsplit.report.derivation_text import step_line

if TYPE_CHECKING:
    from collections.abc import Mapping


def gate_text(document: Mapping[str, Any], *, explain: bool = False) -> str:
    """One row a condition, then the verdict, and how the figures were found when that is asked for."""
    rows = [
        ("ok" if row["ok"] else "no", row["name"], row["want"], _got(row["got"]), row["reason"] or "")
        for row in document["checks"]
    ]
    verdict = "every condition holds" if document["ok"] else "not every condition holds"
    steps = map(step_line, document["derivation"] if explain else ())
    table = columns(("", "condition", "want", "got", ""), rows)
    return "\n".join([table, f"{document['target']}: {verdict}", *steps])


def _got(value: float | str | None) -> str:
    return "unknown" if value is None else str(value)
