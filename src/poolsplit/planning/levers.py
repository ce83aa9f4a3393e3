"""What each lever is worth: the launch solved again in full with it, the split chosen anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import InfeasiblePlanError, LaunchRefusedError
from poolsplit.plan_answer import PricedLever
from poolsplit.planning.optimum import best_ratio
from poolsplit.planning.pins import best_pin, least_pin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from poolsplit.engines.engine import Deployment, Lever
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.question import Question

    FindOutcome = Callable[[Question, Lever, Outcome], Outcome]

_UNCAPPED_REQUESTS = 1 << 14


def price_levers(
    question: Question, levers: Iterable[Lever], recommended: Outcome, *, hold_split: bool = False
) -> tuple[PricedLever, ...]:
    """Every lever on top of the recommended plan, most requests gained first, refused ones last.

    Of several with one name, which exclude each other, the best stands for all.

    With `hold_split` the recommended split stays as it is, because more than the running requests stands on it;
    without it each lever is given the best split of its own.
    """
    find = _held if hold_split else _best_with
    priced = sorted((_price(question, lever, recommended, find) for lever in levers), key=_rank)
    best: dict[str, PricedLever] = {}
    for lever in priced:
        best.setdefault(lever.name, lever)
    return tuple(best.values())


def _rank(lever: PricedLever) -> tuple[bool, int, int, str]:
    return (lever.status == "refused", -(lever.delta_requests or 0), -(lever.delta_kv_tokens or 0), lever.name)


def _price(question: Question, lever: Lever, recommended: Outcome, find: FindOutcome) -> PricedLever:
    deployment = question.deployment
    if lever.stops:
        return _refused(deployment, lever, lever.stops)
    try:
        outcome = find(question, lever, recommended)
    except (LaunchRefusedError, InfeasiblePlanError) as refused:
        return _refused(deployment, lever, refused.message)
    pools = outcome.solution.pools
    return PricedLever(
        name=lever.name,
        flags=deployment.flag_words(outcome.changes),
        status="offered",
        reason=None,
        running_requests=outcome.running_requests,
        total_running_requests=outcome.total_running,
        kv_tokens=pools.logical_tokens,
        delta_requests=outcome.total_running - recommended.total_running,
        delta_kv_tokens=pools.logical_tokens - recommended.solution.pools.logical_tokens,
        state_slots=pools.state_slots,
        removes=deployment.removed_words(outcome.changes),
        launch_command=deployment.command(outcome.changes) or None,
        risk=lever.risk,
    )


def _refused(deployment: Deployment, lever: Lever, reason: str) -> PricedLever:
    return PricedLever(
        name=lever.name,
        flags=deployment.flag_words(lever.changes),
        status="refused",
        reason=reason,
        running_requests=None,
        total_running_requests=None,
        kv_tokens=None,
        delta_requests=None,
        delta_kv_tokens=None,
        state_slots=None,
        removes=deployment.removed_words(lever.changes),
        launch_command=None,
        risk=lever.risk,
    )


def _held(question: Question, lever: Lever, recommended: Outcome) -> Outcome:
    """The recommended split with one lever on top of it.

    Raises:
        LaunchRefusedError: The engine refuses the lever here.
    """
    return question.outcome({**recommended.changes, **lever.changes})


def _best_with(question: Question, lever: Lever, recommended: Outcome) -> Outcome:
    """The best split with one lever; the split as it stands where the ratio decides nothing.

    Raises:
        LaunchRefusedError: The engine refuses the lever here.
        InfeasiblePlanError: No split runs a request with it.
    """
    changed = question.changed({**recommended.changes, **lever.changes})
    if not lever.needs_spare and not lever.raises_cap:
        same = _unmoved(changed, recommended)
        if same is not None:
            return same
    cap_changes = question.deployment.request_cap_changes
    if lever.raises_cap:
        changed = changed.changed(cap_changes(_UNCAPPED_REQUESTS))
    best = _best_split(changed, recommended)
    if lever.needs_spare:
        spared = best_pin(changed, best.solution, best.total_running)
        best = spared if spared is not None else best
    if lever.raises_cap:
        best = _best_split(changed.changed(cap_changes(best.total_running)), recommended)
    return best


def _unmoved(question: Question, recommended: Outcome) -> Outcome | None:
    """The outcome of a lever that changes nothing about the pools: no other split can then be better."""
    outcome = question.outcome_or_lacking({})
    return outcome if outcome is not None and outcome.solution == recommended.solution else None


def _best_split(question: Question, recommended: Outcome) -> Outcome:
    if recommended.mode == "pin":
        found = _pinned(question)
        if found is not None:
            return found
    optimum = best_ratio(question, guess=recommended.running_requests)
    found = optimum.outcome if optimum is not None else _pinned(question)
    if found is None:
        why = _why_not(question)
        raise InfeasiblePlanError(f"not one request of this length runs with it at any split{why}")
    return found


def _why_not(question: Question) -> str:
    """What the engine says about the launch as the lever leaves it, for people who wonder."""
    try:
        question.deployment.solve(question.base)
    except LaunchRefusedError as refused:
        return f": {refused.message}"
    return ""


def _pinned(question: Question) -> Outcome | None:
    known = question.outcome_or_lacking({}) or least_pin(question)
    if known is None:
        return None
    return best_pin(question, known.solution, question.traffic.concurrency or _UNCAPPED_REQUESTS)
