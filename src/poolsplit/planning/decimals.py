"""The shortest decimal number inside an interval: a flag that people can read and that keeps what was promised."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_DIGITS = 17


def decimals_between(low: float, high: float, near: float) -> Iterator[list[float]]:
    """Numbers in [low, high] by significant digits, fewest first; those of equal length the nearest to `near` first.

    Raises:
        ValueError: The interval is empty or not positive.
    """
    if not 0 < low <= high:
        raise ValueError(f"no positive interval from {low} to {high}")
    for digits in range(1, _MOST_DIGITS + 1):
        found = {
            float(candidate)
            for exponent in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
            for candidate in _grid_neighbours(low, high, near, exponent - digits + 1)
            if low <= float(candidate) <= high
        }
        if found:
            yield sorted(found, key=lambda value: abs(math.log(value / near)))


def _grid_neighbours(low: float, high: float, near: float, exponent: int) -> list[Decimal]:
    """Multiples of ten to the exponent next to both ends and to the wanted value."""
    step = Decimal(1).scaleb(exponent)
    inside = min(max(near, low), high)
    found: list[Decimal] = []
    for value in (low, inside, high):
        multiple = int(Decimal(value) / step)
        found.extend(step * (multiple + shift) for shift in (0, 1))
    return [candidate for candidate in found if candidate > 0]
