"""State slots set outright, where a ratio is too blunt: few slots, shared tokens, or a wanted number of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.planning.outcome import Outcome, evaluate_or_lacking
from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from poolsplit.engines.engine import Changes, Deployment, Solution
    from poolsplit.workload.traffic import Traffic

BLUNT_RATIO = 0.15
"""Below this a ratio moves whole requests per hundredth."""
SPARE_SLOTS = 1
"""Per worker: exactly S x C slots leave none for a state that is being handed to the cache."""


def pinned_slots(requests: int, slots_per_request: int, workers: int) -> int:
    """Slots over all workers for so many requests: workers x (ceil(C / workers) x S + 1)."""
    return workers * (ceil_div(requests, workers) * slots_per_request + SPARE_SLOTS)


def pin_for(
    deployment: Deployment, traffic: Traffic, base: Changes, solution: Solution, requests: int
) -> Outcome | None:
    """The outcome with slots for so many requests over all workers, and the cap raised where it stands in the way.

    None where it does not start with them.

    Raises:
        LaunchRefusedError: The launch is refused whatever the split.
    """
    return evaluate_or_lacking(deployment, traffic, _pin_changes(deployment, base, solution, requests))


def _pin_changes(deployment: Deployment, base: Changes, solution: Solution, requests: int) -> Changes:
    slots = pinned_slots(requests, solution.pools.slots_per_request or 1, solution.workers)
    changes = {**base, **deployment.pin_changes(slots)}
    cap = solution.request_cap
    if cap is not None and cap < ceil_div(requests, solution.workers):
        changes |= deployment.request_cap_changes(requests)
    return changes


def bare_pin(deployment: Deployment, traffic: Traffic, base: Changes, requests: int) -> Outcome | None:
    """The outcome with slots for so many requests over all workers and no spare one; None where it does not start.

    Where the launch's own request limit is in the way, too low or too high, the limit is set to those requests.

    Raises:
        LaunchRefusedError: The launch is refused whatever the split.
    """
    layout = deployment.layout(base)
    slots = ceil_div(requests, layout.workers) * layout.slots_per_request * layout.workers
    changes = {**base, **deployment.pin_changes(slots)}
    return _first_running(
        deployment, traffic, (changes, {**changes, **deployment.request_cap_changes(requests)}), requests
    )


def least_pin(deployment: Deployment, traffic: Traffic, base: Changes) -> Outcome | None:
    """The same for a single request a worker."""
    return bare_pin(deployment, traffic, base, deployment.layout(base).workers)


def _first_running(
    deployment: Deployment, traffic: Traffic, tried: tuple[Changes, ...], requests: int
) -> Outcome | None:
    """The first outcome that runs so many requests over all workers, else the one that runs most; None without any."""
    best: Outcome | None = None
    for changes in tried:
        outcome = evaluate_or_lacking(deployment, traffic, changes)
        if outcome is None:
            continue
        if outcome.total_running >= requests:
            return outcome
        if best is None or outcome.running_requests > best.running_requests:
            best = outcome
    return best


def best_pin(deployment: Deployment, traffic: Traffic, base: Changes, solution: Solution, most: int) -> Outcome | None:
    """The pin that runs most requests, at most `most` over all workers; None when not one runs."""
    workers = solution.workers
    low, high, best = 0, most // workers, None
    while low < high:
        middle = (low + high + 1) // 2
        found = _running(deployment, traffic, base, solution, middle * workers)
        if found is not None and found.running_requests >= middle:
            low, best = middle, found
        else:
            high = middle - 1
    return best


def _running(
    deployment: Deployment, traffic: Traffic, base: Changes, solution: Solution, requests: int
) -> Outcome | None:
    changes = _pin_changes(deployment, base, solution, requests)
    return _first_running(
        deployment, traffic, (changes, {**changes, **deployment.request_cap_changes(requests)}), requests
    )
