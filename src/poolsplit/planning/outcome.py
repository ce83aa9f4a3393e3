"""What one split gives this traffic: requests by state, by KV and by the cap, and which of them binds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from poolsplit.engines.engine import Changes, Deployment, Solution
    from poolsplit.workload.traffic import Traffic

Binding = Literal["state", "kv", "balanced", "request_cap"]
Mode = Literal["ratio", "pin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One solved split under one traffic; counts are per data-parallel worker."""

    solution: Solution
    changes: Changes
    """What was changed to get here."""
    state_requests: int
    """Slots over slots per request."""
    kv_requests: int
    """Requests of this traffic that the KV pool holds."""
    mean_tokens: float

    @property
    def mode(self) -> Mode:
        """Whether slots were asked for outright."""
        return "pin" if self.solution.pinned_slots is not None else "ratio"

    @property
    def granted(self) -> int:
        """Running requests that the engine grants."""
        return self.solution.pools.max_running_requests

    @property
    def running_requests(self) -> int:
        """Requests that really run: the least of the pools and what the engine grants."""
        return min(self.state_requests, self.kv_requests, self.granted)

    @property
    def total_running(self) -> int:
        """Over all workers."""
        return self.running_requests * self.solution.workers

    @property
    def binding(self) -> Binding:
        """What stops the next request."""
        if self.granted < min(self.state_requests, self.kv_requests):
            return "request_cap"
        if self.state_requests == self.kv_requests:
            return "balanced"
        return "state" if self.state_requests < self.kv_requests else "kv"

    @property
    def kv_used_fraction(self) -> float:
        """Share of the KV pool that the running requests fill at their mean length."""
        tokens = self.solution.pools.logical_tokens
        return min(1.0, self.running_requests * self.mean_tokens / tokens) if tokens else 0.0

    @property
    def state_used_fraction(self) -> float:
        """Share of the state slots that the running requests reserve."""
        pools = self.solution.pools
        return self.running_requests * (pools.slots_per_request or 0) / pools.state_slots if pools.state_slots else 0.0

    @property
    def predicted_state_usage(self) -> float | None:
        """Occupancy to expect of the state slots while these requests run; None where what is held is not known."""
        held, slots = self.solution.held_slots_per_request, self.solution.pools.state_slots
        return None if held is None or not slots else min(1.0, self.running_requests * held / slots)


def evaluate(deployment: Deployment, traffic: Traffic, changes: Changes) -> Outcome:
    """Solves a deployment with some flags changed and counts what runs.

    Raises:
        LaunchRefusedError: The engine would refuse it.
    """
    solution = deployment.solve(changes)
    return outcome_of(solution, traffic, changes)


def fits(solution: Solution, traffic: Traffic, requests: int) -> bool:
    """Whether the KV pools hold so many requests of a traffic."""
    pools = solution.pools
    windows, each = pools.window_tokens, solution.window_tokens_per_request
    if windows is not None and each and requests > windows // each:
        return False
    return traffic.fits(requests, pools.logical_tokens, solution.page_tokens * solution.dcp_size)


def outcome_of(solution: Solution, traffic: Traffic, changes: Changes) -> Outcome:
    """Counts what runs in solved pools."""
    pools = solution.pools
    page = solution.page_tokens * solution.dcp_size
    held = traffic.requests_held(pools.logical_tokens, page)
    if pools.window_tokens is not None and solution.window_tokens_per_request:
        held = min(held, pools.window_tokens // solution.window_tokens_per_request)
    return Outcome(
        solution=solution,
        changes=changes,
        state_requests=(pools.state_slots or 0) // (pools.slots_per_request or 1),
        kv_requests=held,
        mean_tokens=traffic.mean_tokens,
    )
