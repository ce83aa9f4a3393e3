"""The least of each pool in which what runs at once fits, the other pool endless (docs/surface.md, 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poolsplit.surface.cells import ENDLESS, Split

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.surface.cells import Replays

TOLERANCE = 1 / 64
"""Width of the last interval, relative to its upper end."""


def least_states(replays: Replays, guess: int) -> int:
    """Fewest slots that serve the order with endless KV, from a size that is known to be near."""
    return _least(guess, lambda n: replays.one(Split(state_slots=n, kv_tokens=ENDLESS)).fits)


def least_kv(replays: Replays, guess: int) -> int:
    """Fewest KV tokens that serve the order with endless states, from a size that is known to be near."""
    return _least(guess, lambda n: replays.one(Split(state_slots=ENDLESS, kv_tokens=n)).fits)


def surely_too_small(least: Split) -> Split:
    """Sizes at which what runs at once surely does not fit, from floors that were found."""
    return Split(state_slots=_below(least.state_slots), kv_tokens=_below(least.kv_tokens))


def _below(size: int) -> int:
    return size - max(1, math.ceil(size * TOLERANCE))


def _least(guess: int, fits: Callable[[int], bool]) -> int:
    """Smallest size that fits, found by doubling and halving from a guess, then by bisection.

    Known error: at most `TOLERANCE` too large.
    """
    high = max(1, guess)
    while not fits(high):
        high += max(1, high // 2)
    low = high
    while low > 0 and fits(low):
        high = low
        low = low * 2 // 3
    while high - low > max(1, int(high * TOLERANCE)):
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high
