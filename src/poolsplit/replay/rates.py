"""How fast a server is, fitted from observations of one that ran."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poolsplit.engines.speed_lines import SpeedLines

LEAST_LINES = 10
"""Observations of a kind below which nothing is fitted."""
LEAST_AT_A_COUNT = 3
"""Decode observations that a number of running requests needs to count."""
FULL_FRACTION = 0.5
"""Prefill batches from this share of the largest on tell the rate; smaller ones tell the overhead of a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillRate:
    """Tokens a second of full prefill batches."""

    tokens_per_s: float
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRate:
    """Tokens a second of one request, by how many run."""

    tokens_per_s: tuple[tuple[int, float], ...]
    lines: int

    @property
    def most_running(self) -> int:
        """Largest number of running requests that was observed often enough."""
        return self.tokens_per_s[-1][0]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRates:
    """Rates that a run-time log gave; None where the command line did, or nobody."""

    log: str | None = None
    prefill: PrefillRate | None = None
    decode: DecodeRate | None = None


def fit_prefill(seen: SpeedLines) -> PrefillRate:
    """Median rate of the prefill batches that were at least half as large as the largest.

    Raises:
        InputError: Too few of them.

    Known error:
        Steps of other requests between two prefill batches, where the log does not show them, make the rate too low.
    """
    largest = max((tokens for tokens, _ in seen.prefill), default=0)
    rates = [rate for tokens, rate in seen.prefill if tokens >= FULL_FRACTION * largest]
    _check(len(rates), "prefill", f"{seen.prefill_lines} prefill lines, of which {len(rates)} full batches one after")
    return PrefillRate(tokens_per_s=median(rates), lines=len(rates))


def fit_decode(seen: SpeedLines) -> DecodeRate:
    """Median rate of one request at every number of running requests that was observed often enough.

    Raises:
        InputError: Too few observations.

    Known error:
        Contexts are not told apart: the rates are those of the contexts that the log's requests had. Above the largest
        number observed, a step takes as long as there.
    """
    at: dict[int, list[float]] = {}
    for running, rate in seen.decode:
        at.setdefault(running, []).append(rate)
    known = {running: rates for running, rates in at.items() if len(rates) >= LEAST_AT_A_COUNT}
    lines = sum(map(len, known.values()))
    _check(lines, "decode", f"{seen.decode_lines} decode lines, of which {lines} with as many running as the line")
    return DecodeRate(tokens_per_s=tuple((running, median(known[running])) for running in sorted(known)), lines=lines)


def beyond(observed: DecodeRate, running: Iterable[float]) -> Sequence[str]:
    """Warnings where more ran in the replay than the log has rates for."""
    most = max(running, default=0)
    if most <= observed.most_running:
        return ()
    seen = f"the log has decode rates up to {observed.most_running} running requests and the replay ran {most:.0f}"
    return (f"{seen}: beyond, a step takes as long as there",)


def _check(lines: int, kind: str, seen: str) -> None:
    if lines < LEAST_LINES:
        raise InputError(
            f"too few lines for a {kind} rate: {seen} before, and {LEAST_LINES} are needed",
            hint=f"give a longer log under load, or the rate with `--{kind}-tokens-per-s`",
        )
