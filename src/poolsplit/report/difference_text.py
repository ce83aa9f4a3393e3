"""A difference of two starts, as one document and as text."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.launch_difference import Change, Difference


def difference_document(difference: Difference, names: tuple[str, str]) -> dict[str, Any]:
    """The whole answer; `schema_version` is put before it where it is written."""
    return {
        "command": "diff",
        "engine": dict(difference.engine),
        "inputs": list(names),
        "a": {"kind": difference.kinds[0], **asdict(difference.a)},
        "b": {"kind": difference.kinds[1], **asdict(difference.b)},
        "differs": difference.differs,
        "changes": [asdict(change) for change in difference.changes],
        "explains_requests": difference.explains_requests,
        "explains_tokens": difference.explains_tokens,
        "warnings": list(difference.warnings),
        "derivation": [
            {"name": change.field, "value": change.effect_requests, "unit": "requests", "source": change.reason}
            for change in difference.changes
        ],
    }


def difference_text(difference: Difference) -> str:
    """For people: what each side grants, then what changed, the strongest first."""
    if not difference.differs:
        return "nothing differs"
    return "\n".join(_lines(difference))


def _lines(difference: Difference) -> Iterator[str]:
    yield f"{'':<20}{'a: ' + difference.kinds[0]:>16}{'b: ' + difference.kinds[1]:>16}"
    for name in ("requests", "kv_tokens", "state_slots", "slots_per_request", "binding"):
        mine, theirs = getattr(difference.a, name), getattr(difference.b, name)
        if mine is not None or theirs is not None:
            yield f"{name.replace('_', ' '):<20}{_value(mine):>16}{_value(theirs):>16}"
    yield ""
    ordered = sorted(
        difference.changes, key=lambda each: (-abs(each.effect_requests or 0), -abs(each.effect_tokens or 0))
    )
    for change in ordered:
        yield f"{change.field}: {_value(change.a)} -> {_value(change.b)}{_effect(change)}"
    explained = {difference.explains_requests: "requests", difference.explains_tokens: "tokens"}
    if difference.explains_requests == difference.explains_tokens and difference.explains_requests:
        explained = {difference.explains_requests: "requests and tokens"}
    for field, what in explained.items():
        if field is not None:
            yield f"the difference in {what} comes most from {field}"


def _effect(change: Change) -> str:
    if change.effect_requests is None or change.effect_tokens is None:
        return f" (effect not known: {change.reason})"
    if not change.effect_requests and not change.effect_tokens:
        return " (no effect on the pools)"
    return f" ({change.effect_requests:+,} requests, {change.effect_tokens:+,} tokens by itself)"


def _value(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
