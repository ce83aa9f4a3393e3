"""Histograms of counts on a terminal: bins that double, bars of block characters, readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_WIDTH = 40
_UNITS = ((1 << 20, "M"), (1 << 10, "k"))


def histogram(values: Sequence[int], *, width: int = _WIDTH) -> list[str]:
    """Lines of a histogram: the upper bound of each bin, a bar, the count and its share.

    Bins double: up to 1, 2, 4 ... Empty bins below the first and above the last filled one are left out.
    """
    if not values:
        return []
    counts: dict[int, int] = {}
    for value in values:
        power = max(value - 1, 0).bit_length()
        counts[power] = counts.get(power, 0) + 1
    most = max(counts.values())
    return [
        f"<= {_short(1 << power):>5} {bar(counts.get(power, 0) / most, width)} {counts.get(power, 0):>8}"
        f" {counts.get(power, 0) / len(values):6.1%}"
        for power in range(min(counts), max(counts) + 1)
    ]


def bar(fraction: float, width: int) -> str:
    """A bar of `width` characters, filled by eighths; something is always seen when there is something."""
    eighths = round(fraction * width * 8)
    if fraction > 0:
        eighths = max(eighths, 1)
    full, rest = divmod(eighths, 8)
    return (_FULL * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def _short(value: int) -> str:
    return next((f"{value // size}{unit}" for size, unit in _UNITS if value >= size), str(value))
