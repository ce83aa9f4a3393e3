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
    return "\n".join([table, *_without_conditions(document), f"{document['target']}: {verdict}", *steps])


def _without_conditions(document: Mapping[str, Any]) -> list[str]:
    """What is judged where nothing was asked, and by how much a size may then be off."""
    if any(value is not None for value in document["conditions"].values()):
        return []
    what = "the plan's own bytes may be off" if document["kind"] == "plan" else "a size may be off its prediction"
    allowed = next((row["want"].removeprefix("<= ") for row in document["checks"]), "")
    return [f"no condition is given: {what} by {allowed} of it; `--max-error` sets another share"]


def _got(value: float | str | None) -> str:
    return "unknown" if value is None else str(value)
