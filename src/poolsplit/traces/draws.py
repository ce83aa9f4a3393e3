"""Random numbers of the generators: one seed, one trace."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

_GOLDEN = 0.6180339887498949
_EVEN_STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
"""Powers of 1 / 1.2207440846, the root of x^4 = x + 1: the sequence in three dimensions with the most even gaps."""


class Draws:
    """Draws of one generator.

    `even` numbers fill their space evenly instead of at random: what differs most between sessions (how long, how fast,
    how many subagents) then has the wanted distribution in a trace of a few hundred sessions too, whatever the seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._shift = self._random.random(4)

    def uniform(self) -> float:
        """Evenly in 0..1."""
        return float(self._random.random())

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1."""
        return int(self._random.integers(bound))

    def lognormal(self, median: float, sigma: float) -> float:
        """Lognormal with this median."""
        return float(median * math.exp(sigma * self._random.standard_normal()))

    def lognormal_mean(self, mean: float, sigma: float) -> float:
        """Lognormal with this mean."""
        return self.lognormal(mean * math.exp(-sigma * sigma / 2), sigma)

    def sorted_times(self, count: int, span_s: float) -> list[float]:
        """Moments of a Poisson process of which `count` fall into the span."""
        return [float(moment) for moment in np.sort(self._random.random(count)) * span_s]

    def zipf_weights(self, count: int, alpha: float) -> list[float]:
        """Cumulative weights of ranks, each 1 / rank^alpha."""
        weights = np.arange(1, count + 1) ** -alpha
        return [float(value) for value in np.cumsum(weights / weights.sum())]

    def geometric(self, mean: float) -> int:
        """Whole number from 1 with this mean."""
        return geometric_quantile(self.uniform(), mean)

    def even_triple(self, index: int) -> tuple[float, float, float]:
        """Point `index` of the even sequence in three dimensions."""
        a, b, c = ((self._shift[k] + (index + 1) * step) % 1.0 for k, step in enumerate(_EVEN_STEPS))
        return float(a), float(b), float(c)

    def even(self, index: int) -> float:
        """Point `index` of the even sequence in one dimension."""
        return float((self._shift[3] + (index + 1) * _GOLDEN) % 1.0)


def lognormal_quantile(share: float, median: float, sigma: float) -> float:
    """Value below which `share` of a lognormal lies."""
    inside = min(max(share, 1e-12), 1 - 1e-12)
    return median * math.exp(sigma * NormalDist().inv_cdf(inside))


def poisson_quantile(share: float, mean: float) -> int:
    """Smallest count that a Poisson variable does not exceed with probability `share`."""
    count, term = 0, math.exp(-mean)
    total = term
    while total < share and term > 0:
        count += 1
        term *= mean / count
        total += term
    return count


def geometric_quantile(share: float, mean: float) -> int:
    """Smallest count, from 1, that a geometric variable with this mean does not exceed with probability `share`."""
    if mean <= 1:
        return 1
    return max(math.ceil(math.log1p(-share) / math.log1p(-1 / mean)), 1)
