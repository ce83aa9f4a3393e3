"""Two logs, launch commands or plans compared: which flag explains the difference in requests and tokens.

Every changed flag is put into the first launch alone, and the launch is solved again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.answers.differences.changes import changes_between
from poolsplit.answers.differences.sides import borrowing, side_of
from poolsplit.engines.launch_difference import Change, Difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poolsplit.answers.differences.sides import Side
    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.boot_report import ReadAnswer

__all__ = ["difference_of"]


def difference_of(texts: tuple[str, str], request: LaunchRequest, read: Callable[[str], ReadAnswer]) -> Difference:
    """Compares two sides.

    Args:
        texts: Each a log file, a plan document or a launch command.
        request: Card and memory, for launch commands.
        read: Reads a log.

    Raises:
        InputError: One of them is none of these.
    """
    a, b = (side_of(text, request, read) for text in texts)
    if a.deployment is None and b.deployment is not None and a.kind == "launch":
        a = borrowing(a, b.deployment)
    base = a.deployment
    silent = next((side.kind for side in (a, b) if not side.values), None)
    changes = () if silent else tuple(changes_between(a, b, base))
    return Difference(
        kinds=(a.kind, b.kind),
        a=a.outcome,
        b=b.outcome,
        changes=changes,
        explains_requests=_strongest(changes, a.outcome.requests, b.outcome.requests, "effect_requests"),
        explains_tokens=_strongest(changes, a.outcome.kv_tokens, b.outcome.kv_tokens, "effect_tokens"),
        engine={"name": "sglang", "version": a.version},
        warnings=tuple(_warnings(a, b, silent, changes)),
    )


def _warnings(a: Side, b: Side, silent: str | None, changes: tuple[Change, ...]) -> Iterator[str]:
    if silent:
        yield f"one {silent} shows no flags: only what the two grant is compared"
    yield from dict.fromkeys((*a.warnings, *b.warnings))
    if a.deployment is None and changes:
        yield f"effects are not known: {a.reason}"


def _strongest(changes: tuple[Change, ...], a: int | None, b: int | None, effect: str) -> str | None:
    """The change whose effect alone comes nearest to the whole difference; None where no change has its sign."""
    if a is None or b is None or a == b:
        return None
    difference = b - a
    same_way = [change for change in changes if (getattr(change, effect) or 0) * difference > 0]
    nearest = min(same_way, key=lambda change: abs(difference - getattr(change, effect)), default=None)
    return nearest.field if nearest else None
