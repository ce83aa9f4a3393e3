"""How likely a number of running requests is to overflow the KV pool, and how many a pool therefore holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poolsplit.workload.sums import sum_of, variance_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.workload.lengths import LengthMix

_CERTAIN_SPREADS = 9.0
"""Standard deviations below the middle from which so many requests are as good as sure to fit."""


def overflow_probability(mix: LengthMix, requests: int, kv_tokens: int) -> float:
    """Chance that this many requests drawn from the mix need more tokens together than the pool holds."""
    if requests <= 0 or kv_tokens >= requests * mix.longest_tokens:
        return 0.0
    if kv_tokens < requests * mix.points[0][0]:
        return 1.0
    return 1.0 - sum_of(mix, requests).probability_up_to(kv_tokens)


def requests_held(mix: LengthMix, kv_tokens: int, overflow_fraction: float) -> int:
    """Most requests of the mix that the pool holds with at most this chance of overflow.

    With one length it is a plain division.
    """
    if mix.is_single:
        return kv_tokens // mix.longest_tokens
    low, high = kv_tokens // mix.longest_tokens, kv_tokens // mix.points[0][0]
    if low >= high:
        return low
    return _gallop(
        lambda count: overflow_probability(mix, count, kv_tokens) <= overflow_fraction,
        low,
        high,
        _normal_guess(mix, kv_tokens, overflow_fraction),
    )


def _gallop(holds: Callable[[int], bool], low: int, high: int, guess: int) -> int:
    """Last number of [low, high] for which a falling condition holds, looked for around a guess; `low` holds."""
    at, step = max(low, min(high, guess)), 1
    if at == low or holds(at):
        low = at
        while low < high and holds(min(high, low + step)):
            low = min(high, low + step)
            step *= 2
        high = min(high, low + step)
    else:
        high = at
        while high - step > low and not holds(high - step):
            high -= step
            step *= 2
        low = max(low, high - step)
        high -= 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _normal_guess(mix: LengthMix, kv_tokens: int, overflow_fraction: float) -> int:
    """Requests held if their sum were normal: mean n + z s sqrt(n) = tokens, solved for n."""
    from statistics import NormalDist

    mean, deviation = mix.mean_tokens, math.sqrt(variance_tokens(mix))
    spread = NormalDist().inv_cdf(1 - overflow_fraction) * deviation
    root = (-spread + math.sqrt(spread**2 + 4 * mean * kv_tokens)) / (2 * mean)
    return int(root**2)


def expected_running(mix: LengthMix, kv_tokens: int, request_limit: int) -> float:
    """Mean number of requests that run when arrivals are taken in order until the KV pool or the limit stops them.

    Shapes: sum over n up to the limit of P(n requests fit); interpolated where it changes slowly.
    """
    if mix.is_single:
        return float(min(kv_tokens // mix.longest_tokens, request_limit))
    mean = mix.mean_tokens
    fitting = kv_tokens / mean
    relative_variance = variance_tokens(mix) / mean**2
    certain = int(fitting - _CERTAIN_SPREADS * math.sqrt(relative_variance * fitting))
    first = min(request_limit, max(kv_tokens // mix.longest_tokens, certain))
    total = float(first)
    stride = max(1, (request_limit - first) // 12)
    previous, previous_fits = first, 1.0
    while previous < request_limit and previous_fits > 1e-9:  # noqa: PLR2004 -- nothing left to add
        here = min(request_limit, previous + stride)
        fits = 1.0 - overflow_probability(mix, here, kv_tokens)
        width = here - previous
        total += width * (previous_fits + fits) / 2 + (fits - previous_fits) / 2
        previous, previous_fits = here, fits
    return total
