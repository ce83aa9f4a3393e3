"""How an answer was found, as text: every step with its value, unit and source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.report.columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from poolsplit.derivation import Step


def derivation_table(steps: Iterable[Step]) -> str:
    """Steps in columns: name, value, unit and where it comes from."""
    rows = [(step.name, plain_value(step.value), step.unit, step.source) for step in steps]
    return columns(("step", "value", "unit", "from"), rows, right=(1,))


def derivation_block(document: Mapping[str, Any]) -> Iterator[str]:
    """A blank line, a heading and a document's steps, one a line."""
    yield ""
    yield "derivation"
    for step in document["derivation"]:
        yield f"  {step_line(step)}"


def step_line(step: Mapping[str, Any]) -> str:
    """One step of a document, its value as it stands there."""
    return f"{step['name']} = {step['value']} {step['unit']}  ({step['source']})"


def plain_value(value: float | str | None) -> str:
    """A figure as people write it: thousands apart, floats short."""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    return "-" if value is None else value
