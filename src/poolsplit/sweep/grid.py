"""Points of a grid: one value of every axis."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Value = str | int | float
Point = dict[str, Value]

MOST_POINTS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Axes in order; the last varies fastest."""

    axes: tuple[tuple[str, tuple[Value, ...]], ...]

    @property
    def size(self) -> int:
        """Number of points."""
        count = 1
        for _, values in self.axes:
            count *= len(values)
        return count

    def points(self) -> list[Point]:
        """Every point, in order."""
        names = [name for name, _ in self.axes]
        return [dict(zip(names, values, strict=True)) for values in product(*(values for _, values in self.axes))]


def grid_of(axes: Mapping[str, Sequence[Value]], known: Mapping[str, str]) -> Grid:
    """A grid of some axes.

    Args:
        axes: Values by name, in order.
        known: Names that mean something, with their meaning.

    Raises:
        UsageError: An unknown or empty axis, a value twice, or more points than anybody waits for.
    """
    for name, values in axes.items():
        if name not in known:
            raise UsageError(f"`{name}` is nothing that can be swept", hint=f"known are {', '.join(known)}")
        if not values:
            raise UsageError(f"the axis `{name}` has no values", hint="give one or more: --set name=a,b")
        if len(set(values)) < len(values):
            raise UsageError(f"the axis `{name}` has a value twice", hint="name each value once")
    grid = Grid(axes=tuple((name, tuple(values)) for name, values in axes.items()))
    if grid.size > MOST_POINTS:
        raise UsageError(f"a grid of {grid.size:,} points is too large", hint=f"{MOST_POINTS:,} at most")
    return grid


def digest_of(point: Point) -> str:
    """Name of a point, the same in every process."""
    text = "\n".join(f"{name}={type(value).__name__}:{value!r}" for name, value in sorted(point.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:24]
