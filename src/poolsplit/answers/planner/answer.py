"""A choice put together as the answer, with every step and its source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.launch_memory import MEASURED_STEPS
from poolsplit.answers.planner.trace_server import cache_figures
from poolsplit.derivation import Step
from poolsplit.plan_answer import Constants, PlanAnswer, RestFigure
from poolsplit.planning.balance import effective_ratio
from poolsplit.planning.figures import constants_of, split_figures, stage_figures
from poolsplit.units import GIB, ceil_div

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.engines.engine import Deployment, Solution
    from poolsplit.planning.choose import Choice
    from poolsplit.planning.outcome import Outcome
    from poolsplit.workload.traffic import Traffic


def answer_of(prepared: Prepared, traffic: Traffic, choice: Choice) -> PlanAnswer:
    """The answer of one choice, without what is only added when it is asked."""
    best = choice.recommended
    deployment, solution = prepared.deployment, best.solution
    constants = constants_of(solution, prepared.constants_origin, prepared.token_equiv_published)
    rest = _rest(prepared, solution)
    flags = deployment.flag_words(best.changes) or _split_words(deployment, solution)
    replicas = _replicas(prepared, solution)
    return PlanAnswer(
        model=prepared.model,
        launch_values=prepared.launch_values,
        device=prepared.device,
        version=prepared.version,
        workload=_workload(traffic),
        constants=constants,
        rest=rest,
        formula_ratio=choice.formula_ratio,
        formula_note=_formula_note(choice),
        current=None if choice.current is None else split_figures(choice.current, deployment, flags=()),
        current_refused=None if choice.current_refused is None else str(choice.current_refused),
        recommended=split_figures(best, deployment, flags=flags),
        pin_reason=choice.pin_reason,
        launch_command=deployment.command(best.changes),
        cache=cache_figures(prepared, solution, best.changes),
        replicas=replicas,
        stages=stage_figures(solution),
        notes=(*_replica_notes(replicas), *_notes(choice, constants)),
        derivation=_each_once(_steps(prepared, traffic, choice, constants, rest)),
        warnings=tuple(dict.fromkeys((*prepared.warnings, *solution.warnings))),
    )


def _replicas(prepared: Prepared, solution: Solution) -> int:
    """Servers that the launch starts: data parallelism without data-parallel attention copies the whole model."""
    asked = prepared.launch_values.get("dp_size")
    return asked if isinstance(asked, int) and asked > 1 and solution.workers == 1 else 1


def _replica_notes(replicas: int) -> tuple[str, ...]:
    if replicas == 1:
        return ()
    text = (
        f"`--dp-size {replicas}` without `--enable-dp-attention` starts {replicas} whole replicas, each on its own "
        "cards: every figure is one replica's, and so are the requests and sessions that are asked for"
    )
    return (text,)


def _split_words(deployment: Deployment, solution: Solution) -> tuple[str, ...]:
    """The split as it stands, said outright, so that a later default cannot move it."""
    if solution.pinned_slots is not None:
        return deployment.flag_words(deployment.pin_changes(solution.pinned_slots))
    if not solution.ratio_counts:
        return ()
    return deployment.flag_words(deployment.ratio_changes(solution.state_to_kv_ratio))


def _workload(traffic: Traffic) -> dict[str, int | float | str | None]:
    mix = traffic.lengths
    return {
        "origin": mix.origin,
        "mean_tokens": mix.mean_tokens,
        "input_tokens_mean": mix.input_tokens_mean,
        "p50_tokens": mix.quantile_tokens(0.5),
        "p90_tokens": mix.quantile_tokens(0.9),
        "p99_tokens": mix.quantile_tokens(0.99),
        "max_tokens": mix.longest_tokens,
        "overflow_fraction": traffic.overflow_fraction,
        "concurrency": traffic.concurrency,
        "concurrency_median": traffic.concurrency_median,
    }


def _rest(prepared: Prepared, solution: Solution) -> RestFigure:
    least = int(min(stage.rest_gib for stage in solution.pools.stages) * GIB)
    error = prepared.rest_error_bytes
    return RestFigure(
        bytes=least,
        origin=prepared.rest_origin,
        interval_bytes=(least - error, least + error),
        source=prepared.rest_source,
    )


def _formula_note(choice: Choice) -> str:
    if choice.formula_ratio is None:
        return "the closed form does not apply: there is no state slot or no KV row to balance"
    formula = choice.formula
    if formula is None:
        return "the closed form's ratio is refused: by it one of the pools holds less than one request"
    gap = choice.recommended.running_requests - formula.running_requests
    why = "it knows no padding slot, no whole slots and no pages"
    if choice.recommended.solution.balance_draft_states:
        why += ", and charges draft states whatever the request cap is"
    count = formula.running_requests
    name = "slots a request (draft states added) x rows a slot is worth x context ranks / tokens a request"
    if gap < 0:
        return f"{name} gives {count} requests, more than the {choice.recommended.running_requests} that are set here"
    return f"{name} {f'gives {gap} fewer' if gap else 'gives as many'}: {count}; {why}"


def _notes(choice: Choice, constants: Constants) -> tuple[str, ...]:
    notes = []
    best = choice.recommended
    if best.mode == "pin":
        notes.append(
            "slots are pinned with one spare a data-parallel worker; from now on new memory all goes to the KV pool"
        )
    if constants.token_equiv_published is not None and constants.token_equiv is not None:
        notes.append(
            f"token_equiv {constants.token_equiv:.1f}: the printed sizes hold one padding slot more than they name; "
            f"the published division leaves it out and gives {constants.token_equiv_published:.1f}"
        )
    if choice.current is not None:
        notes.extend(_against_current(choice.current, choice))
    if best.binding == "request_cap":
        notes.append("the request cap binds before either pool: raise it, and the split comes to count")
    notes.extend(_unspent(choice.current or best))
    return tuple(notes)


def _against_current(current: Outcome, choice: Choice) -> tuple[str, ...]:
    """What is said where the split as it stands runs as many requests, or more than were asked for."""
    best = choice.recommended
    if current.running_requests < best.running_requests:
        return ()
    if choice.pin_reason is None or best.binding == "request_cap":
        return ("no split runs more requests of this traffic: the one that stands is as good as any",)
    if current.running_requests == best.running_requests:
        return ()
    text = (
        f"the split as it stands runs {current.running_requests} requests: slots are set for what is asked for, and "
        "what those leave goes to the KV pool"
    )
    return (text,)


def median_notes(traffic: Traffic, outcome: Outcome) -> tuple[str, ...]:
    """Occupancy of both pools while the median of requests runs; by what they reserve where held slots are unknown."""
    median, pools = traffic.concurrency_median, outcome.solution.pools
    if median is None or not pools.state_slots or not pools.logical_tokens:
        return ()
    running = min(ceil_div(median, outcome.solution.workers), outcome.running_requests)
    held = outcome.solution.held_slots_per_request
    state = running * (held or pools.slots_per_request or 0) / pools.state_slots
    tokens = running * outcome.mean_tokens / pools.logical_tokens
    about = "about" if held else "at most"
    text = (
        f"at the median of {median} running requests, {about} {min(1.0, state) * 100:.0f} % of the state slots and "
        f"{min(1.0, tokens) * 100:.0f} % of the KV pool are in use"
    )
    return (text,)


def _unspent(outcome: Outcome) -> tuple[str, ...]:
    """Draft states charged by the slot and taken by the request: what a low request cap leaves to KV."""
    solution = outcome.solution
    real, cap = effective_ratio(solution), solution.request_cap
    if real is None or cap is None or not solution.balance_draft_states or not solution.ratio_counts:
        return ()
    if cap >= outcome.state_requests:
        return ()
    text = (
        f"ratio {solution.state_to_kv_ratio:g} comes out as {real:.4f}: draft states are charged by the slot and taken "
        f"by the {cap} requests of the cap, the rest goes to KV; {outcome.state_requests} requests would spend it"
    )
    return (text,)


def _each_once(steps: Iterator[Step]) -> tuple[Step, ...]:
    """Steps by name, the last one of a name where it first stood: the solver's own word over ours."""
    by_name: dict[str, Step] = {}
    for step in steps:
        by_name[step.name] = step
    return tuple(by_name.values())


def _steps(
    prepared: Prepared, traffic: Traffic, choice: Choice, constants: Constants, rest: RestFigure
) -> Iterator[Step]:
    origin = constants.origin
    yield Step(name="state_bytes_per_slot", value=constants.state_bytes_per_slot, unit="bytes", source=origin)
    yield Step(name="kv_bytes_per_token", value=constants.kv_bytes_per_token, unit="bytes", source=origin)
    yield Step(name="token_equiv", value=constants.token_equiv, unit="tokens", source="slot bytes / row bytes")
    yield Step(
        name="slots_per_request", value=constants.slots_per_request, unit="slots", source="radix strategy and overlap"
    )
    yield Step(name="draft_states", value=constants.draft_states, unit="states", source="speculation")
    yield Step(name="dcp_size", value=constants.dcp_size, unit="ranks", source="launch")
    yield Step(name="rest_bytes", value=rest.bytes, unit="bytes", source=f"{rest.origin}: {rest.source}")
    yield from prepared.steps
    yield Step(name="tokens_per_request", value=traffic.mean_tokens, unit="tokens", source=traffic.lengths.origin)
    yield Step(
        name="formula_ratio", value=choice.formula_ratio, unit="state : KV", source="(S + D) x token_equiv x DCP / L"
    )
    if choice.optimum is not None:
        best = choice.optimum
        yield Step(name="lowest_best_ratio", value=best.low_ratio, unit="state : KV", source="solver, at its slots")
        yield Step(
            name="highest_best_ratio",
            value=best.high_ratio,
            unit="state : KV",
            source="solver, at its slots",
        )
        yield Step(name="best_requests", value=best.running_requests, unit="requests", source="solver at either end")
    outcome = choice.recommended
    pools = outcome.solution.pools
    if prepared.derive is not None:
        for step in prepared.derive(outcome.solution, outcome.changes):
            measured = step.name in MEASURED_STEPS
            yield replace(step, source=f"{rest.origin}: {rest.source}") if measured else step
    else:
        yield Step(name="state_slots", value=pools.state_slots, unit="slots", source="printed, or solved again")
        yield Step(name="kv_tokens", value=pools.logical_tokens, unit="tokens", source="printed, or solved again")
        state = outcome.state_requests
        yield Step(name="state_requests", value=state, unit="requests", source="slots // slots per request")
        yield Step(name="max_running_requests", value=outcome.granted, unit="requests", source="granted by the engine")
    yield Step(name="kv_requests", value=outcome.kv_requests, unit="requests", source="requests that the KV pool holds")
    yield Step(name="running_requests", value=outcome.running_requests, unit="requests", source="the least of these")
