"""Sizes of a surface: spaced by ratio between the least that serves and the most that is used."""

from __future__ import annotations


def spaced(low: int, high: int, count: int) -> tuple[int, ...]:
    """At most `count` whole sizes from `low` to `high`, in equal ratios."""
    if high <= low or count < 2:  # noqa: PLR2004  two ends
        return (low,)
    ratio = (high / low) ** (1 / (count - 1))
    return tuple(sorted({low, high, *(round(low * ratio**i) for i in range(1, count - 1))}))
