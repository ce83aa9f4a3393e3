"""What each lever is worth: the launch solved again in full with it, the split chosen anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import InfeasiblePlanError, LaunchRefusedError
from poolsplit.plan_answer import PricedLever
from poolsplit.planning.optimum import best_ratio
from poolsplit.planning.outcome import Outcome, evaluate, evaluate_or_lacking
from poolsplit.planning.pins import best_pin, least_pin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from poolsplit.engines.engine import Changes, Deployment, Lever
    from poolsplit.workload.traffic import Traffic

    FindOutcome = Callable[[Deployment, Traffic, Lever, Outcome], Outcome]

_UNCAPPED_REQUESTS = 1 << 14


def price_levers(
    deployment: Deployment, traffic: Traffic, levers: Iterable[Lever], recommended: Outcome, *, hold_split: bool = False
) -> tuple[PricedLever, ...]:
    """Every lever on top of the recommended plan, most requests gained first, refused ones last.

    With `hold_split` the recommended split stays as it is, because more than the running requests stands on it;
    without it each lever is given the best split of its own.
    """
    find = _held if hold_split else _best_with
    priced = [_price(deployment, traffic, lever, recommended, find) for lever in levers]
    return tuple(sorted(priced, key=_rank))


def _rank(lever: PricedLever) -> tuple[bool, int, int, str]:
    return (lever.status == "refused", -(lever.delta_requests or 0), -(lever.delta_kv_tokens or 0), lever.name)


def _price(
    deployment: Deployment, traffic: Traffic, lever: Lever, recommended: Outcome, find: FindOutcome
) -> PricedLever:
    if lever.stops:
        return _refused(deployment, lever, lever.stops)
    try:
        outcome = find(deployment, traffic, lever, recommended)
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


def _held(deployment: Deployment, traffic: Traffic, lever: Lever, recommended: Outcome) -> Outcome:
    """The recommended split with one lever on top of it.

    Raises:
        LaunchRefusedError: The engine refuses the lever here.
    """
    return evaluate(deployment, traffic, {**recommended.changes, **lever.changes})


def _best_with(deployment: Deployment, traffic: Traffic, lever: Lever, recommended: Outcome) -> Outcome:
    """The best split with one lever; the split as it stands where the ratio decides nothing.

    Raises:
        LaunchRefusedError: The engine refuses the lever here.
        InfeasiblePlanError: No split runs a request with it.
    """
    base: Changes = {**recommended.changes, **lever.changes}
    if not lever.needs_spare and not lever.raises_cap:
        same = _unmoved(deployment, traffic, base, recommended)
        if same is not None:
            return same
    if lever.raises_cap:
        base = {**base, **deployment.request_cap_changes(_UNCAPPED_REQUESTS)}
    best = _best_split(deployment, traffic, base, recommended)
    if lever.needs_spare:
        spared = best_pin(deployment, traffic, base, best.solution, best.total_running)
        best = spared if spared is not None else best
    if lever.raises_cap:
        capped = {**base, **deployment.request_cap_changes(best.total_running)}
        best = _best_split(deployment, traffic, capped, recommended)
    return best


def _unmoved(deployment: Deployment, traffic: Traffic, base: Changes, recommended: Outcome) -> Outcome | None:
    """The outcome of a lever that changes nothing about the pools: no other split can then be better."""
    outcome = evaluate_or_lacking(deployment, traffic, base)
    return outcome if outcome is not None and outcome.solution == recommended.solution else None


def _best_split(deployment: Deployment, traffic: Traffic, base: Changes, recommended: Outcome) -> Outcome:
    if recommended.mode == "pin":
        found = _pinned(deployment, traffic, base)
        if found is not None:
            return found
    optimum = best_ratio(deployment, traffic, base, guess=recommended.running_requests)
    found = optimum.outcome if optimum is not None else _pinned(deployment, traffic, base)
    if found is None:
        why = _why_not(deployment, base)
        raise InfeasiblePlanError(f"not one request of this length runs with it at any split{why}")
    return found


def _why_not(deployment: Deployment, base: Changes) -> str:
    """What the engine says about the launch as the lever leaves it, for people who wonder."""
    try:
        deployment.solve(base)
    except LaunchRefusedError as refused:
        return f": {refused.message}"
    return ""


def _pinned(deployment: Deployment, traffic: Traffic, base: Changes) -> Outcome | None:
    known = evaluate_or_lacking(deployment, traffic, base) or least_pin(deployment, traffic, base)
    if known is None:
        return None
    return best_pin(deployment, traffic, base, known.solution, traffic.concurrency or _UNCAPPED_REQUESTS)
