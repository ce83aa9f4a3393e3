"""A spread of lengths against its mean: what the mean alone would promise, and what a wrong ratio costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import LaunchRefusedError
from poolsplit.plan_beside import LossPoint, MixFigures
from poolsplit.planning.optimum import best_ratio
from poolsplit.workload.lengths import single_length
from poolsplit.workload.overflow import expected_running, overflow_probability
from poolsplit.workload.traffic import Traffic

if TYPE_CHECKING:
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.question import Question

LOSS_FACTORS = (0.8, 0.9, 1.0, 1.1, 1.25)


def mix_figures(question: Question, recommended: Outcome) -> MixFigures:
    """The recommended split under the whole spread, beside the one that the mean would choose.

    Two measures stand side by side: the requests that overflow at most as often as accepted, and the mean number that
    run when arrivals are taken in order until either pool stops them.
    """
    traffic = question.traffic
    mix = traffic.lengths
    by_mean = _by_mean(question)
    at_mean = None if by_mean is None else question.outcome(by_mean.changes)
    promised = 0 if by_mean is None else by_mean.running_requests
    losses = _losses(question, recommended)
    running = mean_running(traffic, recommended)
    running_by_mean = 0.0 if at_mean is None else mean_running(traffic, at_mean)
    return MixFigures(
        mean_tokens=mix.mean_tokens,
        p50_tokens=mix.quantile_tokens(0.5),
        p90_tokens=mix.quantile_tokens(0.9),
        p99_tokens=mix.quantile_tokens(0.99),
        overflow_fraction=traffic.overflow_fraction,
        kv_requests_by_mean=int(recommended.solution.pools.logical_tokens / mix.mean_tokens),
        promised_by_mean=promised,
        overflow_of_mean_plan=_overflow(traffic, by_mean, promised),
        mean_ratio=None if by_mean is None else by_mean.solution.state_to_kv_ratio,
        running_at_mean_ratio=0 if at_mean is None else at_mean.running_requests,
        expected_running=running,
        expected_running_at_mean_ratio=running_by_mean,
        losses=losses,
        text=_text(losses, recommended, by_mean, promised, _overflow(traffic, by_mean, promised)),
    )


def mean_running(traffic: Traffic, outcome: Outcome) -> float:
    """Mean number of requests that run at one split, arrivals taken in order."""
    solution = outcome.solution
    mix = traffic.lengths.paged(solution.page_tokens * solution.dcp_size)
    limit = min(outcome.state_requests, outcome.granted)
    return expected_running(mix, solution.pools.logical_tokens, limit)


def _by_mean(question: Question) -> Outcome | None:
    traffic = question.traffic
    mean = Traffic(lengths=single_length(round(traffic.mean_tokens)), overflow_fraction=traffic.overflow_fraction)
    optimum = best_ratio(question.under(mean))
    return None if optimum is None else optimum.outcome


def _overflow(traffic: Traffic, by_mean: Outcome | None, promised: int) -> float:
    """Chance that what the mean promises overflows the KV pool."""
    if by_mean is None:
        return 0.0
    solution = by_mean.solution
    mix = traffic.lengths.paged(solution.page_tokens * solution.dcp_size)
    return overflow_probability(mix, promised, solution.pools.logical_tokens)


def _losses(question: Question, recommended: Outcome) -> tuple[LossPoint, ...]:
    solution = recommended.solution
    if solution.pinned_slots is not None or not solution.ratio_counts:
        return ()
    points = []
    for factor in LOSS_FACTORS:
        ratio = solution.state_to_kv_ratio * factor
        try:
            found = question.outcome(question.deployment.ratio_changes(ratio))
        except LaunchRefusedError:
            continue
        points.append(
            LossPoint(
                factor=factor,
                ratio=ratio,
                state_requests=found.state_requests,
                kv_requests=found.kv_requests,
                running_requests=found.running_requests,
                expected_running=mean_running(question.traffic, found),
            )
        )
    return tuple(points)


def _text(
    losses: tuple[LossPoint, ...], recommended: Outcome, by_mean: Outcome | None, promised: int, overflow: float
) -> str:
    """What the spread means, with the figures that say so."""
    parts = []
    if by_mean is not None and overflow > 0:
        parts.append(
            f"the mean alone promises {promised} requests at ratio {by_mean.solution.state_to_kv_ratio:g}; drawn from "
            f"the spread they overflow the KV pool with a chance of {overflow:.0%}"
        )
    low = next((point for point in losses if point.factor == LOSS_FACTORS[0]), None)
    high = next((point for point in losses if point.factor == LOSS_FACTORS[-1]), None)
    best = next((point for point in losses if point.factor == 1.0), None)
    if low is not None and high is not None and best is not None:
        parts.append(
            f"of {best.expected_running:.0f} running on average, a ratio of {low.factor:g}x leaves "
            f"{low.expected_running:.0f} and {high.factor:g}x {high.expected_running:.0f}"
        )
        up = high.expected_running > best.expected_running
        parts.append(
            "short moments of the spread fill the state pool first, which refuses, while KV gives way by retraction: "
            + (
                "a higher ratio runs more on average, at more overflow"
                if up
                else "here a higher ratio already costs more than it gives"
            )
        )
    del recommended
    return "; ".join(parts)
