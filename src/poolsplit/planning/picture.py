"""What a picture of a plan shows beside its figures: requests at every ratio, and where both limits cross."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from poolsplit.errors import LaunchRefusedError
from poolsplit.plan_beside import CurvePoint, PictureFigures, RatioPoint
from poolsplit.planning.balance import effective_ratio
from poolsplit.planning.figures import stage_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.planning.choose import Choice
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.question import Question

CURVE_POINTS = 33
REACH = 8.0
"""The curve goes from an eighth of the ratio in its middle to eight times that."""
_MARGIN = 1.25
"""Room beyond a marked ratio that lies further out."""
_HALVINGS = 12
UNSPLIT = "the ratio decides nothing here: slots follow the running requests"


def picture_of(question: Question, choice: Choice) -> PictureFigures:
    """Both splits rank by rank, and the curve between them."""
    current = choice.current
    marked = [point for point in (_mark(current), _mark(choice.recommended)) if point is not None]
    curve = _curve(question, choice, [point.state_to_kv_ratio for point in marked])
    return PictureFigures(
        current=() if current is None else stage_figures(current.solution),
        curve=curve,
        curve_reason=None if curve else UNSPLIT,
        balance=_balance(question.changed(choice.recommended.changes), curve),
        current_point=_mark(current),
        recommended_point=_mark(choice.recommended),
    )


def _mark(outcome: Outcome | None) -> RatioPoint | None:
    """Where a split lies on the curve: at its ratio, or at the one that its bytes come to."""
    if outcome is None:
        return None
    solution = outcome.solution
    ratio = solution.state_to_kv_ratio if solution.pinned_slots is None else effective_ratio(solution)
    return None if not ratio else RatioPoint(state_to_kv_ratio=ratio, requests=outcome.running_requests)


def _curve(question: Question, choice: Choice, marked: Sequence[float]) -> tuple[CurvePoint, ...]:
    """Requests at ratios in equal steps of their logarithm, the marked ones among them."""
    middle = choice.optimum.ratio if choice.optimum is not None else choice.formula_ratio
    if middle is None or middle <= 0:
        return ()
    low = min(middle / REACH, *(ratio / _MARGIN for ratio in marked))
    high = max(middle * REACH, *(ratio * _MARGIN for ratio in marked))
    step = math.log(high / low) / (CURVE_POINTS - 1)
    ratios = sorted({*(low * math.exp(step * number) for number in range(CURVE_POINTS)), *marked})
    recommended = question.changed(choice.recommended.changes)
    points = (_point(recommended, ratio) for ratio in ratios)
    return tuple(point for point in points if point is not None)


def _point(question: Question, ratio: float) -> CurvePoint | None:
    """The solver's answer at one ratio; None where it refuses, or where the ratio does not count."""
    try:
        outcome = question.outcome(question.deployment.ratio_changes(ratio))
    except LaunchRefusedError:
        return None
    if not outcome.solution.ratio_counts:
        return None
    return CurvePoint(
        state_to_kv_ratio=ratio,
        state_slots=outcome.solution.pools.state_slots or 0,
        kv_tokens=outcome.solution.pools.logical_tokens,
        state_requests=outcome.state_requests,
        kv_requests=outcome.kv_requests,
        max_running_requests=outcome.granted,
        running_requests=outcome.running_requests,
    )


def _balance(question: Question, curve: Sequence[CurvePoint]) -> RatioPoint | None:
    """The least ratio at which the state pool carries as many requests as the KV pool; None where it never does."""
    below = [point for point in curve if point.state_requests < point.kv_requests]
    above = [point for point in curve if point.state_requests >= point.kv_requests]
    if not below or not above:
        return None
    low, best = below[-1].state_to_kv_ratio, above[0]
    for _ in range(_HALVINGS):
        middle = _point(question, math.sqrt(low * best.state_to_kv_ratio))
        if middle is None:
            break
        if middle.state_requests < middle.kv_requests:
            low = middle.state_to_kv_ratio
        else:
            best = middle
    return RatioPoint(state_to_kv_ratio=best.state_to_kv_ratio, requests=min(best.state_requests, best.kv_requests))
