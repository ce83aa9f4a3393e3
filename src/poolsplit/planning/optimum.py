"""The best split, found with the solver itself: whole slots, the padding slot, pages and verify scratch included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import LaunchRefusedError
from poolsplit.planning.decimals import simplest_between
from poolsplit.planning.outcome import Outcome, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.engine import Changes, Deployment
    from poolsplit.workload.traffic import Traffic

LEAST_RATIO = 1e-5
MOST_RATIO = 1e5
_STEPS = 60
_PRECISION = 1e-9
"""Width of a bracket, in natural logarithm, at which the solver's own floats decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The most requests that any ratio gives, and every ratio that gives them."""

    running_requests: int
    low_ratio: float
    high_ratio: float
    outcome: Outcome
    """At the ratio to set."""
    ratio: float


class RatioSearch:
    """Outcomes of one deployment by ratio; each ratio is solved once."""

    def __init__(self, deployment: Deployment, traffic: Traffic, base: Changes) -> None:
        self._deployment = deployment
        self._traffic = traffic
        self._base = base
        self._seen: dict[float, Outcome | LaunchRefusedError] = {}

    def at(self, ratio: float) -> Outcome | LaunchRefusedError:
        """The outcome, or the refusal."""
        if ratio not in self._seen:
            changes = {**self._base, **self._deployment.ratio_changes(ratio)}
            try:
                self._seen[ratio] = evaluate(self._deployment, self._traffic, changes)
            except LaunchRefusedError as refused:
                if self._deployment.lacks_state(refused) is None:
                    raise
                self._seen[ratio] = refused
        return self._seen[ratio]

    def running(self, ratio: float) -> int:
        """Requests that run; 0 where the engine refuses."""
        found = self.at(ratio)
        return 0 if isinstance(found, LaunchRefusedError) else found.running_requests

    def state_reaches(self, ratio: float, requests: int) -> bool:
        """Whether the state pool is large enough for so many requests."""
        found = self.at(ratio)
        if isinstance(found, LaunchRefusedError):
            return self._deployment.lacks_state(found) is False
        return found.state_requests >= requests

    def kv_reaches(self, ratio: float, requests: int) -> bool:
        """Whether the KV pool is large enough for so many requests."""
        found = self.at(ratio)
        if isinstance(found, LaunchRefusedError):
            return self._deployment.lacks_state(found) is True
        return found.kv_requests >= requests

    def state_exceeds_kv(self, ratio: float) -> bool:
        """Whether more requests fit by state than by KV."""
        found = self.at(ratio)
        if isinstance(found, LaunchRefusedError):
            return self._deployment.lacks_state(found) is False
        return found.state_requests >= found.kv_requests


def best_ratio(deployment: Deployment, traffic: Traffic, base: Changes, wanted: float | None = None) -> Optimum | None:
    """The ratio that runs most requests, as the shortest decimal that still does; None when none runs a single one.

    Requests by state rise with the ratio and requests by KV fall, so the best lies where they cross; the cap may make
    a whole range equal. Among equal decimals the nearest to `wanted` (the middle of the range without it) is taken.

    Raises:
        LaunchRefusedError: The launch is refused whatever the ratio.
    """
    search = RatioSearch(deployment, traffic, base)
    below, above = _bisect(search.state_exceeds_kv)
    requests = max(search.running(below), search.running(above))
    if requests <= 0:
        return None
    low = _bisect(lambda ratio: search.state_reaches(ratio, requests))[1]
    high = _bisect(lambda ratio: not search.kv_reaches(ratio, requests))[0]
    middle = math.sqrt(low * high)
    near = wanted if wanted is not None and low <= wanted <= high else middle
    ratio = simplest_between(low, high, near)
    outcome = search.at(ratio)
    if isinstance(outcome, LaunchRefusedError) or outcome.running_requests < requests:
        ratio = above if search.running(above) == requests else below
        outcome = search.at(ratio)
    if isinstance(outcome, LaunchRefusedError):
        raise outcome
    return Optimum(running_requests=requests, low_ratio=low, high_ratio=high, outcome=outcome, ratio=ratio)


def _bisect(is_above: Callable[[float], bool]) -> tuple[float, float]:
    """The last ratio below a rising condition and the first above it; both ends the same where it never changes."""
    if is_above(LEAST_RATIO):
        return LEAST_RATIO, LEAST_RATIO
    if not is_above(MOST_RATIO):
        return MOST_RATIO, MOST_RATIO
    low, high = math.log(LEAST_RATIO), math.log(MOST_RATIO)
    for _ in range(_STEPS):
        if high - low < _PRECISION:
            break
        middle = (low + high) / 2
        if is_above(math.exp(middle)):
            high = middle
        else:
            low = middle
    return math.exp(low), math.exp(high)
