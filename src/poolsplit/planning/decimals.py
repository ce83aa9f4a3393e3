"""The shortest decimal number inside an interval: a flag that people can read and that keeps what was promised."""

from __future__ import annotations

import math
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
            candidate
            for exponent in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
            for candidate in _grid_neighbours(low, high, near, exponent - digits + 1)
            if low <= candidate <= high
        }
        if found:
            yield sorted(found, key=lambda value: abs(math.log(value / near)))


def _grid_neighbours(low: float, high: float, near: float, exponent: int) -> list[float]:
    """Multiples of ten to the exponent next to both ends and to the wanted value, each as its decimal reads."""
    step = 10.0**exponent
    inside = min(max(near, low), high)
    multiples = (int(value / step) + shift for value in (low, inside, high) for shift in (0, 1))
    return [float(f"{multiple}e{exponent}") for multiple in multiples if multiple > 0]
