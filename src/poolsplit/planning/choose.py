"""Which split to recommend: a ratio, or slots set outright, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import InfeasiblePlanError, LaunchRefusedError
from poolsplit.planning.balance import formula_ratio
from poolsplit.planning.optimum import Optimum, best_ratio
from poolsplit.planning.pins import BLUNT_RATIO, bare_pin, best_pin, least_pin, pin_for, pinned_slots
from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from poolsplit.engines.engine import Solution
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.question import Question

_MOST_REQUESTS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The recommended split and what it was weighed against."""

    current: Outcome | None
    current_refused: LaunchRefusedError | None
    recommended: Outcome
    optimum: Optimum | None
    """The best ratio; None where a ratio was not asked for or decides nothing."""
    pin_reason: str | None
    formula_ratio: float | None
    formula: Outcome | None
    """What the closed form's ratio gives; None where it does not apply or is refused."""


def choose(question: Question) -> Choice:
    """The split to set for this traffic.

    Raises:
        InfeasiblePlanError: Nothing fits; the hint is the nearest plan that does.
        LaunchRefusedError: The launch is refused whatever the split.
    """
    current, refused = _as_it_stands(question)
    if question.traffic.concurrency is not None:
        return _for_concurrency(question, current, refused)
    optimum = best_ratio(question) if current is None or _ratio_decides(current) else None
    reference = optimum.outcome if optimum is not None else current or least_pin(question)
    if reference is None:
        raise _nothing_fits(question, refused)
    wanted = formula_ratio(reference.solution, question.traffic.mean_tokens)
    formula = _at_ratio(question, wanted)
    reason = _pin_reason(optimum, reference.solution, wanted, formula)
    best = optimum.outcome if optimum is not None else None
    if reason is not None:
        most = optimum.running_requests * reference.solution.workers if optimum is not None else _MOST_REQUESTS
        pinned = best_pin(question, reference.solution, most)
        best = pinned if pinned is not None else best
        reason = reason if pinned is not None else None
    if current is not None and (best is None or current.running_requests >= best.running_requests):
        best, reason = current, None
    if best is None or best.running_requests < 1:
        best, reason = _single_request(question)
    if best is None:
        raise _nothing_fits(question, refused)
    return Choice(
        current=current,
        current_refused=refused,
        recommended=best,
        optimum=optimum,
        pin_reason=reason,
        formula_ratio=wanted,
        formula=formula,
    )


def _as_it_stands(question: Question) -> tuple[Outcome | None, LaunchRefusedError | None]:
    """The launch's own split, or why a pool is too small with it."""
    try:
        return question.outcome({}), None
    except LaunchRefusedError as refused:
        if question.deployment.lacks_state(refused) is None:
            raise
        return None, refused


def _single_request(question: Question) -> tuple[Outcome | None, str | None]:
    """The slots of one request a worker and no spare, where nothing else runs a single one."""
    single = least_pin(question)
    if single is None or single.running_requests < 1:
        return None, None
    return single, "one request is all that runs, and there is no room for a spare slot"


def _ratio_decides(current: Outcome) -> bool:
    return current.solution.ratio_counts or current.solution.pinned_slots is not None


def _at_ratio(question: Question, ratio: float | None) -> Outcome | None:
    if ratio is None:
        return None
    return question.outcome_or_lacking(question.deployment.ratio_changes(ratio))


def _pin_reason(
    optimum: Optimum | None, solution: Solution, wanted: float | None, formula: Outcome | None
) -> str | None:
    """Why slots are to be set outright, or None for a ratio."""
    if optimum is None:
        return "the ratio decides nothing here: slots follow the running requests"
    if solution.dcp_size > 1:
        return "tokens are shared over a context-parallel group, so the ratio's scale is not what it says"
    if min(optimum.ratio, optimum.ratio if wanted is None else wanted) < BLUNT_RATIO:
        return f"a ratio below {BLUNT_RATIO} moves whole requests with every hundredth"
    if wanted is not None and formula is None:
        return "by ratio the state pool would hold less than one request"
    return None


def _for_concurrency(
    question: Question,
    current: Outcome | None,
    refused: LaunchRefusedError | None,
) -> Choice:
    """Slots for a wanted number of requests."""
    wanted = question.traffic.concurrency or 1
    known = current or _any_outcome(question, refused)
    solution = known.solution
    needed = ceil_div(wanted, solution.workers)
    found = pin_for(question, solution, wanted)
    spared = found is not None and found.running_requests >= needed
    bare = found if spared else bare_pin(question, wanted)
    if bare is None or bare.running_requests < needed:
        raise _too_many(question, solution, found)
    ratio = formula_ratio(solution, question.traffic.mean_tokens)
    return Choice(
        current=current,
        current_refused=refused,
        recommended=bare,
        optimum=None,
        pin_reason=f"slots for {wanted} running requests" + ("" if spared else ", with no room for a spare one"),
        formula_ratio=ratio,
        formula=_at_ratio(question, ratio),
    )


def _any_outcome(question: Question, refused: LaunchRefusedError | None) -> Outcome:
    optimum = best_ratio(question)
    found = optimum.outcome if optimum is not None else least_pin(question)
    if found is None:
        raise _nothing_fits(question, refused)
    return found


def _too_many(question: Question, solution: Solution, found: Outcome | None) -> InfeasiblePlanError:
    traffic = question.traffic
    wanted = traffic.concurrency or 1
    nearest = best_pin(question, solution, wanted)
    hints = []
    if nearest is not None:
        flags = " ".join(question.deployment.flag_words(nearest.changes))
        hints.append(f"{nearest.total_running} such requests fit with `{flags}`")
    if found is not None and found.state_requests * solution.workers >= wanted:
        tokens = found.solution.pools.logical_tokens // ceil_div(wanted, solution.workers)
        hints.append(f"{wanted} requests fit up to {tokens:,} tokens each")
    slots = pinned_slots(wanted, solution.pools.slots_per_request or 1, solution.workers)
    return InfeasiblePlanError(
        f"{wanted} running requests of {traffic.mean_tokens:,.0f} tokens do not fit: they take {slots} state slots "
        f"and {wanted * traffic.mean_tokens:,.0f} KV tokens",
        hint="; ".join(hints) or "use more memory, fewer weights per card, or a higher memory fraction",
    )


def _nothing_fits(question: Question, refused: LaunchRefusedError | None) -> InfeasiblePlanError:
    message = f"not one request of {question.traffic.lengths.longest_tokens:,} tokens fits at any split"
    hint = refused.hint if refused is not None else ""
    nearest = least_pin(question)
    if nearest is not None:
        words = " ".join(question.deployment.flag_words(nearest.changes))
        hint = f"one request of up to {_longest_request(nearest):,} tokens fits with `{words}`"
    return InfeasiblePlanError(message, hint=hint or "use more memory or a higher memory fraction")


def _longest_request(outcome: Outcome) -> int:
    """Tokens that one request may have: the KV pool, and no more than the model's context."""
    pools = outcome.solution.pools
    return min(pools.logical_tokens, pools.context_len) if pools.context_len else pools.logical_tokens
