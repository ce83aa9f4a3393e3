"""The sum of n lengths drawn from a mix, as a distribution on a lattice that covers where the sum can be.

Its probabilities come from the characteristic function of one length, raised to the n-th power, in one finite sum over
the frequencies of the lattice.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.workload.lengths import LengthMix

CELLS = 1024
"""A power of two."""
_SPREADS = 8.5
"""Standard deviations that the lattice covers on each side."""
_EDGE_CELLS = 8
_ROUNDING_EXPONENT = 45
"""A power below exp(-45) adds nothing to a sum near 1."""
_MANY_LENGTHS = 16
"""Lattice cells from which a mix has no strong periods left, so that quiet frequencies stay quiet."""
_QUIET_FREQUENCIES = 48
_DENSE_SHARE = 8
"""Cells a mass, up to which a polynomial is cheaper than one rotation a mass."""
_TRANSFORM_COST = 12_000
"""Steps of the direct sum above which a transform is cheaper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SumOfLengths:
    """The sum of a number of independent lengths."""

    low_tokens: float
    """Where cell 0 lies."""
    step_tokens: float
    exact: bool
    """Whether every possible sum lies on the lattice."""
    terms: tuple[tuple[complex, complex], ...]
    """A frequency's turn and its share of the cumulative sum."""
    constant: float

    def probability_up_to(self, tokens: float) -> float:
        """Chance that the sum is at most this."""
        cells = (tokens - self.low_tokens) / self.step_tokens + 1e-9
        if cells < 0:
            return 0.0
        if cells >= CELLS - 2:
            return 1.0
        whole = math.floor(cells)
        mass = self._up_to_cell(whole)
        if not self.exact:
            mass += (cells - whole) * (self._up_to_cell(whole + 1) - mass)
        return min(1.0, max(0.0, mass))

    def _up_to_cell(self, cell: int) -> float:
        at = cell + 1
        waves = sum((share * cmath.exp(turn * at)).real for turn, share in self.terms)
        return at / CELLS + self.constant - waves


@lru_cache(maxsize=4096)
def sum_of(mix: LengthMix, requests: int) -> SumOfLengths:
    """The sum of so many lengths of a mix.

    Known error: lengths between two lattice points are shared between them, which keeps every mean and adds at most a
    quarter of a squared step to each variance; between lattice points probabilities are interpolated. Exact where the
    sums span at most CELLS steps of the lengths' common divisor.

    Source: inversion of a lattice distribution; held against convolution in `test_overflow`.
    """
    shortest, mean = mix.points[0][0], mix.mean_tokens
    spread = math.sqrt(variance_tokens(mix) * requests)
    grain = math.gcd(*(tokens - shortest for tokens, _ in mix.points)) or 1
    low = max(requests * shortest, requests * mean - _SPREADS * spread)
    high = min(requests * mix.longest_tokens, requests * mean + _SPREADS * spread)
    coarse = max(1, math.ceil((high - low) / (grain * (CELLS - _EDGE_CELLS))))
    step = float(grain * coarse)
    phase = math.floor((low - requests * shortest) / step)
    masses = _on_lattice(mix, step)
    terms, constant = _terms(masses, requests, phase)
    return SumOfLengths(
        low_tokens=requests * shortest + phase * step,
        step_tokens=step,
        exact=coarse == 1,
        terms=terms,
        constant=constant,
    )


def variance_tokens(mix: LengthMix) -> float:
    """Variance of one length."""
    mean = mix.mean_tokens
    return sum(share * (tokens - mean) ** 2 for tokens, share in mix.points)


def _on_lattice(mix: LengthMix, step: float) -> list[float]:
    """Mass of one length on the lattice that starts at the shortest."""
    shortest = mix.points[0][0]
    masses = [0.0] * (math.floor((mix.longest_tokens - shortest) / step) + 2)
    for tokens, share in mix.points:
        cell, part = divmod((tokens - shortest) / step, 1.0)
        masses[int(cell)] += share * (1 - part)
        masses[int(cell) + 1] += share * part
    return masses


def _terms(masses: Sequence[float], requests: int, phase: int) -> tuple[tuple[tuple[complex, complex], ...], float]:
    """Turns and shares of the frequencies that count, and their constant part."""
    terms, constant = [], 0.0
    for k, phi in _characteristic(masses, requests):
        turn = 2j * math.pi * k / CELLS
        power = cmath.exp(requests * cmath.log(phi) - turn * phase)
        weight = (1.0 if k == CELLS // 2 else 2.0) / CELLS
        share = weight * power / (1 - cmath.exp(-turn))
        terms.append((-turn, share))
        constant += share.real
    return tuple(terms), constant


def _characteristic(masses: Sequence[float], requests: int) -> list[tuple[int, complex]]:
    """The characteristic function of one length where its power is not below rounding."""
    sparse = [(at, mass) for at, mass in enumerate(masses) if mass]
    dense = len(masses) <= _DENSE_SHARE * len(sparse)
    if (len(masses) / _DENSE_SHARE if dense else len(sparse)) * _frequencies_needed(sparse, requests) > _TRANSFORM_COST:
        folded = [0j] * CELLS
        for at, mass in sparse:
            folded[at % CELLS] += mass
        values = _transform(folded)
        counted = ((k, values[k]) for k in range(1, CELLS // 2 + 1))
        return [(k, phi) for k, phi in counted if _counts(phi, requests)]
    return _direct(masses if dense else (), sparse, requests)


def _frequencies_needed(sparse: Sequence[tuple[int, float]], requests: int) -> float:
    mean = sum(at * mass for at, mass in sparse)
    variance = sum(mass * (at - mean) ** 2 for at, mass in sparse) * requests
    needed = math.sqrt(2 * _ROUNDING_EXPONENT / variance) * CELLS / (2 * math.pi) if variance else CELLS
    return min(CELLS / 2, needed + _QUIET_FREQUENCIES)


def _direct(dense: Sequence[float], sparse: Sequence[tuple[int, float]], requests: int) -> list[tuple[int, complex]]:
    """Frequency by frequency: as a polynomial where most cells hold mass, else cell by cell."""
    limit = _QUIET_FREQUENCIES if len(sparse) >= _MANY_LENGTHS else CELLS
    found: list[tuple[int, complex]] = []
    quiet = 0
    falling = tuple(reversed(dense))
    for k in range(1, CELLS // 2 + 1):
        turn = 2j * math.pi * k / CELLS
        phi = _polynomial(falling, cmath.exp(turn)) if falling else _cell_by_cell(sparse, turn)
        if _counts(phi, requests):
            found.append((k, phi))
            quiet = 0
            continue
        quiet += 1
        if quiet > limit:
            break
    return found


def _polynomial(falling: Sequence[float], rotation: complex) -> complex:
    value = 0j
    for mass in falling:
        value = value * rotation + mass
    return value


def _cell_by_cell(sparse: Sequence[tuple[int, float]], turn: complex) -> complex:
    return sum((mass * cmath.exp(turn * at) for at, mass in sparse), 0j)


def _counts(phi: complex, requests: int) -> bool:
    size = abs(phi)
    return size > 1e-300 and requests * math.log(size) > -_ROUNDING_EXPONENT  # noqa: PLR2004 -- a float's floor


def _transform(values: list[complex]) -> list[complex]:
    """Sums of values x exp(2 pi i k at / n) for every k; n a power of two."""
    count = len(values)
    if count == 1:
        return values
    even, odd = _transform(values[::2]), _transform(values[1::2])
    half = count // 2
    turned = [wave * value for wave, value in zip(_waves(count), odd, strict=True)]
    return [even[k] + turned[k] for k in range(half)] + [even[k] - turned[k] for k in range(half)]


@lru_cache(maxsize=32)
def _waves(count: int) -> tuple[complex, ...]:
    return tuple(cmath.exp(2j * math.pi * k / count) for k in range(count // 2))
