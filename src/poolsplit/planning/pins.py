"""State slots set outright, where a ratio is too blunt: few slots, shared tokens, or a wanted number of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from poolsplit.engines.engine import Changes, Deployment, Solution
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.question import Question

BLUNT_RATIO = 0.15
"""Below this a ratio moves whole requests per hundredth."""
SPARE_SLOTS = 1
"""Per worker: exactly S x C slots leave none for a state that is being handed to the cache."""


def pinned_slots(requests: int, slots_per_request: int, workers: int) -> int:
    """Slots over all workers for so many requests: workers x (ceil(C / workers) x S + 1)."""
    return workers * (ceil_div(requests, workers) * slots_per_request + SPARE_SLOTS)


def pin_for(question: Question, solution: Solution, requests: int) -> Outcome | None:
    """The outcome with slots for so many requests over all workers, and the cap raised where it stands in the way.

    None where it does not start with them.

    Raises:
        LaunchRefusedError: The launch is refused whatever the split.
    """
    return question.outcome_or_lacking(_pin_changes(question.deployment, solution, requests))


def _pin_changes(deployment: Deployment, solution: Solution, requests: int) -> Changes:
    slots = pinned_slots(requests, solution.pools.slots_per_request or 1, solution.workers)
    changes = dict(deployment.pin_changes(slots))
    cap = solution.request_cap
    if cap is not None and cap < ceil_div(requests, solution.workers):
        changes |= deployment.request_cap_changes(requests)
    return changes


def bare_pin(question: Question, requests: int) -> Outcome | None:
    """The outcome with slots for so many requests over all workers and no spare one; None where it does not start.

    Where the launch's own request limit is in the way, too low or too high, the limit is set to those requests.

    Raises:
        LaunchRefusedError: The launch is refused whatever the split.
    """
    layout = question.deployment.layout(question.base)
    slots = ceil_div(requests, layout.workers) * layout.slots_per_request * layout.workers
    return _first_running(question, question.deployment.pin_changes(slots), requests)


def least_pin(question: Question) -> Outcome | None:
    """The same for a single request a worker."""
    return bare_pin(question, question.deployment.layout(question.base).workers)


def _first_running(question: Question, changes: Changes, requests: int) -> Outcome | None:
    """So many requests over all workers as the launch stands, else with its limit set to them; None without any.

    Where neither runs as many, the one that runs most.
    """
    best: Outcome | None = None
    for tried in (changes, {**changes, **question.deployment.request_cap_changes(requests)}):
        outcome = question.outcome_or_lacking(tried)
        if outcome is None:
            continue
        if outcome.total_running >= requests:
            return outcome
        if best is None or outcome.running_requests > best.running_requests:
            best = outcome
    return best


def best_pin(question: Question, solution: Solution, most: int) -> Outcome | None:
    """The pin that runs most requests, at most `most` over all workers; None when not one runs."""
    workers = solution.workers
    low, high, best = 0, most // workers, None
    while low < high:
        middle = (low + high + 1) // 2
        found = _running(question, solution, middle * workers)
        if found is not None and found.running_requests >= middle:
            low, best = middle, found
        else:
            high = middle - 1
    return best


def _running(question: Question, solution: Solution, requests: int) -> Outcome | None:
    return _first_running(question, _pin_changes(question.deployment, solution, requests), requests)
