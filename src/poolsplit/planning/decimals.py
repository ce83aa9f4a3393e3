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
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    for digits in range(1, _MOST_DIGITS + 1):
        found = {
            candidate
            for decade in decades
            for candidate in _in_decade(low, high, near, decade, digits)
            if low <= candidate <= high
        }
        if found:
            yield sorted(found, key=lambda value: abs(math.log(value / near)))


def _in_decade(low: float, high: float, near: float, decade: int, digits: int) -> list[float]:
    """Numbers of so many digits in one decade, next to its ends in the interval and to the wanted value."""
    exponent = decade - digits + 1
    least, most = max(low, 10.0**decade), min(high, 10.0 ** (decade + 1))
    inside = min(max(near, least), most)
    step = 10.0**exponent
    multiples = {int(value / step) + shift for value in (least, inside, most) for shift in (0, 1)}
    return [float(f"{multiple}e{exponent}") for multiple in multiples if 0 < multiple <= 10**digits]
