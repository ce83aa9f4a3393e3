"""A figure that the log rounds: where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import PrintedSize


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where a figure lies, given that the log rounds."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The centre."""
        return (self.low + self.high) / 2

    def holds(self, value: float) -> bool:
        """Whether a value lies inside."""
        return self.low <= value <= self.high

    def over(self, other: Interval) -> Interval | None:
        """This divided by a positive interval."""
        if other.low <= 0:
            return None
        return Interval(low=min(self.low / other.low, self.low / other.high), high=self.high / other.low)


def total(sizes: tuple[PrintedSize | None, ...]) -> Interval | None:
    """Bytes of several printed sizes; None when there is none at all."""
    known = [size for size in sizes if size is not None]
    if not known:
        return None
    return Interval(low=max(0.0, sum(size.low_bytes for size in known)), high=sum(size.high_bytes for size in known))
