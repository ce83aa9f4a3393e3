"""The best split, found with the solver itself: whole slots, the padding slot, pages and verify scratch included.

What a start-up leaves for KV depends on the slots alone, so the best number of requests is searched over slots; the
ratio is then the shortest decimal whose slots lie where that number runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.planning.balance import token_equiv
from poolsplit.planning.decimals import decimals_between
from poolsplit.planning.outcome import Outcome, fits
from poolsplit.planning.question import solved_or_lacking
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.engine import Changes, Layout, Solution
    from poolsplit.planning.question import Question

_MOST_REQUESTS = 1 << 20
_MOST_RATIO = 1e6
_FIRST_GUESS = 64
_REFINEMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The most requests that any ratio gives, and the ratios that give them."""

    running_requests: int
    low_ratio: float
    high_ratio: float
    """About where those ratios lie."""
    ratio: float
    outcome: Outcome
    """At the ratio to set."""


def best_ratio(question: Question, guess: int | None = None) -> Optimum | None:
    """The ratio that runs most requests, as the shortest decimal that still does; None when none runs a single one.

    Among equal decimals the one in the middle of what fits is taken, so that both pools keep some room.

    Args:
        question: The launch and what is to be served.
        guess: Requests to look around first.

    Raises:
        LaunchRefusedError: The launch is refused whatever the ratio.
    """
    search = SlotSearch(question)
    requests = _largest(search.runs_balanced, search.refine(guess or _FIRST_GUESS))
    if requests < 1:
        return None
    least = requests * search.layout.slots_per_request
    most = least + _largest(lambda more: search.runs(least + more, requests), search.layout.slots_per_request - 1)
    return _with_ratio(search, requests, least, most)


class SlotSearch:
    """Outcomes of one deployment by slots a worker and by ratio."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._deployment = question.deployment
        self._seen: dict[int, Solution | None] = {}
        self.layout: Layout = question.deployment.layout(question.base)

    def runs(self, slots: int, requests: int) -> bool:
        """Whether so many requests run with so many slots a worker."""
        solution = self._at(slots)
        if solution is None or requests > solution.pools.max_running_requests:
            return False
        return fits(solution, self._question.traffic, requests)

    def runs_balanced(self, requests: int) -> bool:
        """Whether so many requests run with just the slots that they reserve."""
        return self.runs(requests * self.layout.slots_per_request, requests)

    def refine(self, guess: int) -> int:
        """A better guess: tokens fall in line with slots, so where both meet is one division away."""
        for _ in range(_REFINEMENTS):
            solution = self._at(guess * self.layout.slots_per_request)
            worth = None if solution is None else token_equiv(solution)
            if solution is None:
                guess = max(1, guess // 4)
                continue
            if worth is None:
                return guess
            slots_tokens = self.layout.slots_per_request * worth * solution.dcp_size
            total = solution.pools.logical_tokens + guess * slots_tokens
            guess = max(1, int(total / (slots_tokens + self._question.traffic.mean_tokens)))
        return guess

    def _at(self, slots: int) -> Solution | None:
        if slots not in self._seen:
            self._seen[slots] = self._solve(self._deployment.pin_changes(slots * self.layout.workers))
        return self._seen[slots]

    def share_of(self, slots: int) -> float:
        """The state's share of the bytes at which the pool comes to hold so many slots."""
        known = [(at, self._seen[at]) for at in sorted(self._seen)]
        solved = [(at, solution) for at, solution in known if solution is not None]
        (low, first), (high, last) = solved[0], solved[-1]
        if low == high:
            other = self._solve(self._deployment.pin_changes((low + 1) * self.layout.workers))
            other = other or self._solve(self._deployment.pin_changes(max(1, low - 1) * self.layout.workers))
            if other is None:
                return 0.0
            high, last = other.pools.state_slots or 0, other
        if low == high:
            return 0.0
        slope = (last.ratio_budget_bytes - first.ratio_budget_bytes) / (high - low)
        budget = first.ratio_budget_bytes + slope * (slots - low)
        return budget / (min(stage.rest_gib for stage in first.pools.stages) * GIB)

    def by_ratio(self, ratio: float) -> Outcome | None:
        """The outcome at a ratio; None where a pool is too small to start."""
        return self._question.outcome_or_lacking(self._deployment.ratio_changes(ratio))

    def _solve(self, split: Changes) -> Solution | None:
        return solved_or_lacking(self._deployment, {**self._question.base, **split})


def _largest(holds: Callable[[int], bool], guess: int) -> int:
    """Largest whole number from 0 for which a falling condition holds; 0 counts as holding."""
    low, step = 0, 1
    at = max(1, min(guess, _MOST_REQUESTS))
    if holds(at):
        low = at
        while low + step <= _MOST_REQUESTS and holds(low + step):
            low += step
            step *= 2
        high = low + step
    else:
        high = at
        while high - step > 0 and not holds(high - step):
            high -= step
            step *= 2
        low = max(0, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _with_ratio(search: SlotSearch, requests: int, least: int, most: int) -> Optimum | None:
    """The shortest ratio whose slots lie between the two bounds."""
    low, high = search.share_of(least), search.share_of(most + 1)
    if not 0 < low < high:
        return None
    low_ratio, high_ratio = low / (1 - low), min(_MOST_RATIO, high / (1 - high) if high < 1 else _MOST_RATIO)
    middle = (low + high) / 2
    near = min(high_ratio, middle / (1 - middle) if middle < 1 else high_ratio)
    for candidates in decimals_between(low_ratio, high_ratio, near):
        for ratio in candidates:
            outcome = search.by_ratio(ratio)
            if outcome is not None and outcome.running_requests >= requests:
                return Optimum(
                    running_requests=requests,
                    low_ratio=low_ratio,
                    high_ratio=high_ratio,
                    ratio=ratio,
                    outcome=outcome,
                )
    return None
