"""Predicted against measured, each pair with its tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.live.expected import Expected
    from poolsplit.live.window import WindowView

Figure = int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerances:
    """How far a measured figure may lie from the predicted one, as a fraction of the prediction."""

    sizes: float = 0.02
    """Slots, KV tokens and granted requests: a plan that estimated the weights is off by about this much."""
    running: float = 0.15
    """Running requests at saturation: admission comes and goes in chunks."""
    length: float = 0.25
    """The mean request: beyond this, another split fits the traffic better."""
    cached: float = 0.10
    """Absolute, in the share of cached tokens."""


MIN_FINISHED = 20
"""Requests that must have finished before their mean length counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One predicted figure beside what was measured. `ok` is None when it cannot be judged yet."""

    name: str
    predicted: Figure
    measured: Figure
    tolerance: float
    ok: bool | None
    reason: str | None = None

    @property
    def error_fraction(self) -> float | None:
        """Distance of the two over the predicted one."""
        if not isinstance(self.predicted, (int, float)) or not isinstance(self.measured, (int, float)):
            return None
        return abs(self.measured - self.predicted) / abs(self.predicted) if self.predicted else None


def compare(view: WindowView, expected: Expected, tolerances: Tolerances) -> tuple[Comparison, ...]:
    """Every predicted figure that the server shows, judged."""
    sample, facts = view.last, view.last.facts
    rows = sample.kv_tokens or (facts.kv_tokens if facts else None)
    dcp = expected.constants.dcp_size if expected.constants else (facts.dcp_size if facts else 1)
    granted = min(facts.granted_per_worker, default=None) if facts else None
    return (
        size_comparison("state_slots", expected.state_slots, _measured_slots(view), tolerances.sizes),
        size_comparison("kv_tokens", expected.kv_tokens, rows * dcp if rows else None, tolerances.sizes),
        size_comparison("max_running_requests", expected.granted_requests, granted, tolerances.sizes),
        _running(view, expected, tolerances),
        _length(view, expected, tolerances),
        _cached(view, expected, tolerances),
        _binding(view, expected),
    )


def _measured_slots(view: WindowView) -> int | None:
    """Slots of the pool gauges, unless they share one buffer with the KV rows; then the server's own figure."""
    sample, facts = view.last, view.last.facts
    if facts is not None and facts.unified_memory:
        return facts.state_slots
    return sample.state_slots or (facts.state_slots if facts else None)


def size_comparison(name: str, predicted: int | None, measured: int | None, tolerance: float) -> Comparison:
    """One size beside its prediction; not judged when either is unknown."""
    if predicted is None or measured is None:
        verdict: bool | str = "not predicted" if predicted is None else "the server does not say"
    else:
        verdict = abs(measured - predicted) <= tolerance * predicted
    return _judged(name, predicted, measured, tolerance, verdict)


def _running(view: WindowView, expected: Expected, tolerances: Tolerances) -> Comparison:
    """What runs while requests wait, a worker: fewer than predicted is wrong, more is not."""
    running, workers = view.mean_running, max(1, view.last.workers)
    measured = None if running is None else running / workers
    predicted = expected.running_requests
    if predicted is None:
        verdict: bool | str = "not predicted"
    elif not view.is_saturated or measured is None:
        verdict = "the queue was empty most of the time, so the limit was not reached"
    else:
        verdict = measured >= predicted * (1 - tolerances.running)
    return _judged("running", predicted, measured, tolerances.running, verdict)


def _length(view: WindowView, expected: Expected, tolerances: Tolerances) -> Comparison:
    measured, predicted = view.traffic.mean_request_tokens, expected.request_tokens
    if predicted is None:
        verdict: bool | str = "not predicted"
    elif measured is None or view.traffic.count("finished_requests") < MIN_FINISHED:
        verdict = f"fewer than {MIN_FINISHED} requests have finished"
    else:
        verdict = abs(measured - predicted) <= tolerances.length * predicted
    return _judged("mean_request_tokens", predicted, measured, tolerances.length, verdict)


def _cached(view: WindowView, expected: Expected, tolerances: Tolerances) -> Comparison:
    measured, predicted = view.traffic.cached_fraction, expected.cached_fraction
    if predicted is None or measured is None:
        verdict: bool | str = "not predicted" if predicted is None else "no prompt tokens were counted"
    else:
        verdict = measured >= predicted - tolerances.cached
    return _judged("cached_fraction", predicted, measured, tolerances.cached, verdict)


def _binding(view: WindowView, expected: Expected) -> Comparison:
    measured = view.binding
    if expected.binding in ("state", "kv", "request_cap") and measured is not None and view.is_saturated:
        verdict: bool | str = measured == expected.binding
    else:
        verdict = "not predicted, balanced, or nothing was stopped"
    return _judged("binding", expected.binding, measured, 0.0, verdict)


def _judged(name: str, predicted: Figure, measured: Figure, tolerance: float, verdict: bool | str) -> Comparison:
    """A comparison that holds or does not, or the reason why that cannot be told yet."""
    ok, reason = (None, verdict) if isinstance(verdict, str) else (verdict, None)
    return Comparison(name=name, predicted=predicted, measured=measured, tolerance=tolerance, ok=ok, reason=reason)
