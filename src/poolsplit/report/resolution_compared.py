"""One launch under another release's rules, beside the answer under this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.errors import LaunchRefusedError

if TYPE_CHECKING:
    from poolsplit.engines.resolution import Resolution

_FIELDS = (
    ("state_slots", "state slots"),
    ("slots_per_request", "slots a request"),
    ("logical_tokens", "KV tokens"),
    ("max_running_requests", "requests"),
)


def compared_document(answer: Resolution, other: Resolution | LaunchRefusedError, version: str) -> dict[str, Any]:
    """What the other release answers, and each difference as this release less the other."""
    if isinstance(other, LaunchRefusedError):
        refused = {"stage": other.stage, "reason": other.reason, "figures": other.figures, "message": other.message}
        return {"engine_version": version, "refused": refused, "changes": []}
    return {
        "engine_version": version,
        "refused": None,
        "launcher_reason": other.pools.launcher_reason,
        "changes": [
            {"field": field, "this": here, "other": there, "difference": _difference(here, there)}
            for field, _, here, there in _pairs(answer, other)
        ],
    }


def compared_text(answer: Resolution, other: Resolution | LaunchRefusedError, version: str) -> str:
    """The same for people: one line a figure."""
    if isinstance(other, LaunchRefusedError):
        return f"under {version}: refused: {other.message}"
    lines = [f"under {version}:"]
    for _, words, here, there in _pairs(answer, other):
        beside = "" if here == there else f"  ({_figure(here)} here)"
        lines.append(f"  {words:16}{_figure(there):>14}{beside}")
    if other.launcher_message is not None:
        lines.append(f"  the launcher refuses it there: {other.launcher_message}")
    return "\n".join(lines)


def _pairs(answer: Resolution, other: Resolution) -> list[tuple[str, str, int | None, int | None]]:
    return [(field, words, getattr(answer.pools, field), getattr(other.pools, field)) for field, words in _FIELDS]


def _difference(here: int | None, there: int | None) -> int | None:
    return None if here is None or there is None else here - there


def _figure(value: int | None) -> str:
    return "none" if value is None else f"{value:,}"
