"""What a split that follows from a trace is asked for: fewest recomputed tokens among those that run enough at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

Goal = Literal["recompute", "concurrency", "balanced"]
GOALS: tuple[Goal, ...] = ("recompute", "concurrency", "balanced")
BALANCED_FRACTION = 0.9
"""Running requests that `balanced` keeps, of the most that any split of the line runs."""


def least_running(goal: Goal, running: Iterable[int], wanted: int | None) -> int:
    """Running requests below which a split does not count.

    Args:
        goal: `recompute`: as many as are wanted. `concurrency`: the most of any split. `balanced`: nearly as many.
        running: Requests that each split of the line runs.
        wanted: Running requests wanted, if any were.

    Raises:
        UsageError: An unknown goal.
    """
    most = max(running, default=0)
    if goal == "recompute":
        return wanted or 1
    if goal == "concurrency":
        return most
    if goal == "balanced":
        return max(wanted or 1, int(most * BALANCED_FRACTION))
    raise UsageError(f"the goal `{goal}` is not known", hint=f"known are {', '.join(GOALS)}")
