"""Differences of running totals between two looks, when servers restart and series come and go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Increments:
    """What was added since the look before."""

    values: Mapping[tuple[str, int], float]
    """Only totals that the look carried."""
    restarted: bool = False
    """Totals fell: the server started anew, and the values are those since its start."""


class CounterWindow:
    """Running totals of one replica, by name and data-parallel rank: a rank that is missing from a page is no fall.

    A server restarts as a whole, so when any total falls all of them count from zero. A total that is missing keeps
    its last value and yields nothing until it is back. A total that appears on a replica already known started at
    zero in between: exporters create labelled series at their first event.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], float] = {}
        self._started = False

    def add(self, totals: Mapping[tuple[str, int], float]) -> Increments | None:
        """What was added since the last look; None for the first one."""
        if not totals:
            return None
        restarted = any(value < self._last.get(name, 0.0) for name, value in totals.items())
        if restarted:
            self._last = {}
        values = {name: value - self._last.get(name, 0.0) for name, value in totals.items()}
        self._last.update(totals)
        first, self._started = not self._started, True
        return None if first else Increments(values=values, restarted=restarted)
