"""How likely a number of running requests is to overflow the KV pool, computed on the whole distribution of lengths.

The sum of n lengths is taken on a lattice that covers where the sum can be; its probability up to the pool's size
comes from the characteristic function, raised to the n-th power, in one finite sum.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.workload.lengths import LengthMix

LATTICE_CELLS = 2048
_SPREADS = 9.0
"""Standard deviations that the lattice covers on each side."""
_EDGE_CELLS = 8
_MANY_LENGTHS = 16
"""Lattice cells from which a mix has no strong periods left."""
_QUIET_FREQUENCIES = 48


def overflow_probability(mix: LengthMix, requests: int, kv_tokens: int) -> float:
    """Chance that this many requests drawn from the mix need more tokens together than the pool holds.

    Shapes: sum over LATTICE_CELLS frequencies of phi(t)^n x a geometric series, phi of the lengths on a lattice.

    Known error: lengths that are not multiples of the lattice step are shared between their two neighbours, which
    keeps every mean and adds at most a quarter of a squared step to each variance. Exact up to rounding where the sums
    span at most LATTICE_CELLS tokens or share a step that makes them so.

    Source: inversion of a lattice distribution; held against convolution in `test_overflow`.
    """
    shortest, longest = mix.points[0][0], mix.longest_tokens
    if requests <= 0 or kv_tokens >= requests * longest:
        return 0.0
    if kv_tokens < requests * shortest:
        return 1.0
    lattice = _lattice(mix, requests)
    if kv_tokens < lattice.low_tokens:
        return 1.0
    steps = math.floor((kv_tokens - lattice.low_tokens) / lattice.step_tokens + 1e-9)
    if steps >= LATTICE_CELLS - 1:
        return 0.0
    return min(1.0, max(0.0, 1.0 - _mass_up_to(lattice, requests, steps)))


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


def variance_tokens(mix: LengthMix) -> float:
    """Variance of one length."""
    mean = mix.mean_tokens
    return sum(share * (tokens - mean) ** 2 for tokens, share in mix.points)


def expected_running(mix: LengthMix, kv_tokens: int, request_limit: int) -> float:
    """Mean number of requests that run when arrivals are taken in order until the KV pool or the limit stops them.

    Shapes: sum over n up to the limit of P(n requests fit); interpolated where it changes slowly.
    """
    if mix.is_single:
        return float(min(kv_tokens // mix.longest_tokens, request_limit))
    mean = mix.mean_tokens
    fitting = kv_tokens / mean
    relative_variance = variance_tokens(mix) / mean**2
    certain = int(fitting - _SPREADS * math.sqrt(relative_variance * fitting))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lattice:
    low_tokens: float
    """Where cell 0 of the sum lies."""
    step_tokens: float
    phase_steps: int
    """Steps that the shortest length's n-fold sum lies below cell 0."""
    masses: tuple[float, ...]
    """Mass of one length on the lattice that starts at the shortest."""


def _lattice(mix: LengthMix, requests: int) -> _Lattice:
    shortest = mix.points[0][0]
    mean = mix.mean_tokens
    spread = math.sqrt(variance_tokens(mix) * requests)
    grain = math.gcd(*(tokens - shortest for tokens, _ in mix.points)) or 1
    low = max(requests * shortest, requests * mean - _SPREADS * spread)
    high = min(requests * mix.longest_tokens, requests * mean + _SPREADS * spread)
    cells = LATTICE_CELLS - _EDGE_CELLS
    step = grain * max(1, math.ceil((high - low) / (grain * cells)))
    phase = math.floor((low - requests * shortest) / step)
    masses = [0.0] * (math.floor((mix.longest_tokens - shortest) / step) + 2)
    for tokens, share in mix.points:
        cell, part = divmod((tokens - shortest) / step, 1.0)
        masses[int(cell)] += share * (1 - part)
        masses[int(cell) + 1] += share * part
    while len(masses) > 1 and masses[-1] == 0.0:
        masses.pop()
    return _Lattice(
        low_tokens=requests * shortest + phase * step, step_tokens=step, phase_steps=phase, masses=tuple(masses)
    )


def _mass_up_to(lattice: _Lattice, requests: int, steps: int) -> float:
    """Probability that the sum lies in cells 0 to `steps`, by inversion over one period of the lattice.

    Frequencies whose power is below rounding add nothing; after a run of them a mix of many lengths has no more.
    """
    total = (steps + 1) / LATTICE_CELLS
    sparse = [(at, mass) for at, mass in enumerate(lattice.masses) if mass]
    quiet_limit = _QUIET_FREQUENCIES if len(sparse) >= _MANY_LENGTHS else LATTICE_CELLS
    quiet = 0
    for k in range(1, LATTICE_CELLS // 2 + 1):
        turn = 2j * math.pi * k / LATTICE_CELLS
        phi = _characteristic(sparse, turn)
        size = abs(phi)
        if size < 1e-300 or requests * math.log(size) < -45:  # noqa: PLR2004 -- below any rounding
            quiet += 1
            if quiet > quiet_limit:
                break
            continue
        quiet = 0
        power = cmath.exp(requests * cmath.log(phi) - turn * lattice.phase_steps)
        back = cmath.exp(-turn)
        series = (1 - back ** (steps + 1)) / (1 - back)
        weight = 1.0 if k == LATTICE_CELLS // 2 else 2.0
        total += weight * (power * series).real / LATTICE_CELLS
    return total


def _characteristic(sparse: list[tuple[int, float]], turn: complex) -> complex:
    """Characteristic function of one length at one frequency: cells that follow each other share one rotation."""
    rotation = cmath.exp(turn)
    phi, at, here = 0j, 0, 1 + 0j
    for cell, mass in sparse:
        here = here * rotation if cell == at + 1 else cmath.exp(turn * cell)
        at = cell
        phi += mass * here
    return phi
