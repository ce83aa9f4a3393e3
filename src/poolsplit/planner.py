"""A plan from what a command line says: the launch found, its pools solved, the split chosen, the answer put together.

Beside `api` on the same floor, and reached through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from poolsplit.derivation import Step
from poolsplit.engines.sglang.deployment import SglangDeployment
from poolsplit.errors import InputError, UsageError
from poolsplit.opened_launch import LaunchRequest, find_memory, open_launch
from poolsplit.plan_answer import Constants, PlanAnswer, RestFigure
from poolsplit.planning.choose import Choice, choose
from poolsplit.planning.figures import constants_of, split_figures, stage_figures
from poolsplit.units import GIB, parse_count
from poolsplit.workload.lengths import LengthMix, mix_of, read_length_lines, read_percentiles, single_length
from poolsplit.workload.traffic import DEFAULT_OVERFLOW_FRACTION, Traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poolsplit.engines.engine import Buffer, Changes, Deployment, Lever, Solution
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.opened_launch import OpenedLaunch
    from poolsplit.plan_answer import ConstantsOrigin, PricedLever, RestOrigin
    from poolsplit.shapes.model_shape import DraftShape


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRequest:
    """What a command line says about the traffic."""

    context: str | None = None
    input: str | None = None
    output: str | None = None
    lengths: str | None = None
    """A file, `-`, or percentiles."""
    trace: str | None = None
    overflow: float | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """What a command line says about kept sessions."""

    sessions: int | None = None
    session_tokens: str | None = None
    checkpoints_per_session: float | None = None
    margin: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a command line asks of a plan."""

    launch: LaunchRequest
    workload: WorkloadRequest
    sessions: SessionRequest
    boot_log: str | None = None
    compare_version: str | None = None
    levers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One deployment and where its figures come from."""

    deployment: Deployment
    model: str
    device: str
    version: str
    constants_origin: ConstantsOrigin
    rest_origin: RestOrigin
    rest_source: str
    rest_error_bytes: int = 0
    token_equiv_published: float | None = None
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    levers: Callable[[Changes], tuple[Lever, ...]] | None = None
    """What else could be changed, given what the plan changes; None where the model is not known."""
    buffers: Callable[[Solution, Changes], tuple[Buffer, ...]] | None = None
    """Memory allocated beside the reservation; None where the model is not known."""
    slack_bytes: int | None = None
    """Kept free on purpose: free memory after the weights less what both pools share."""


def plan(request: PlanRequest) -> PlanAnswer:
    """The split to set for one launch and one traffic.

    Raises:
        InputError: Something cannot be read or found, or the model has no two pools to split.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
        InfeasiblePlanError: Nothing fits; the hint names the nearest plan that does.
    """
    traffic = read_traffic(request.workload)
    prepared = prepare(request)
    choice = choose(prepared.deployment, traffic)
    answer = _answer(prepared, traffic, choice)
    if request.levers and prepared.levers is not None:
        answer = replace(answer, levers=_levers(prepared, traffic, choice))
    return answer


def prepare(request: PlanRequest) -> Prepared:
    """Finds everything that a plan solves with: from a log, or from model, card and memory."""
    if request.boot_log is not None:
        from poolsplit.planner_log import prepare_from_log

        return prepare_from_log(request.launch, request.boot_log)
    opened = open_launch(request.launch)
    if opened.shape.state is None:
        raise InputError(
            f"{opened.shape.name} has no state layers: there is one pool, and nothing to split",
            hint="`poolsplit models` lists hybrid models",
        )
    memory = find_memory(request.launch, opened)
    deployment = deployment_of(opened, memory.free)
    return Prepared(
        deployment=deployment,
        levers=levers_for(deployment),
        buffers=buffers_for(deployment),
        model=opened.shape.name,
        device=opened.device.name,
        version=opened.switches.version,
        constants_origin=opened.model.origin,
        rest_origin=memory.origin,
        rest_source=memory.source,
        rest_error_bytes=memory.error_bytes,
        warnings=(*opened.warnings, *memory.warnings),
    )


def deployment_of(opened: OpenedLaunch, memory: FreeMemory | Callable[[ResolvedFlags], FreeMemory]) -> SglangDeployment:
    """The engine's side of a plan for one opened launch."""

    def own_draft() -> DraftShape:
        from poolsplit.hub import find_draft

        return find_draft(opened.shape.name)

    return SglangDeployment(
        shape=opened.shape,
        flags=opened.flags,
        device=opened.device,
        memory=memory,
        switches=opened.switches,
        draft=opened.draft,
        launch=opened.launch,
        own_draft=own_draft,
    )


def levers_for(deployment: SglangDeployment) -> Callable[[Changes], tuple[Lever, ...]]:
    """What else could be changed about a deployment."""

    def levers(changes: Changes) -> tuple[Lever, ...]:
        from poolsplit.engines.sglang.deployment import changed_flags
        from poolsplit.engines.sglang.levers import levers_of

        flags = changed_flags(deployment.flags, changes)
        resolved, release = deployment.resolve(changes), deployment.switches.version
        return levers_of(deployment.shape, flags, resolved, deployment.device, release)

    return levers


def buffers_for(deployment: SglangDeployment) -> Callable[[Solution, Changes], tuple[Buffer, ...]]:
    """Memory that a deployment allocates beside what its solver reserves."""

    def buffers(solution: Solution, changes: Changes) -> tuple[Buffer, ...]:
        from poolsplit.engines.sglang.headroom import buffers_beside

        return buffers_beside(deployment.shape, deployment.flags, deployment.resolve(changes), solution.pools)

    return buffers


def _levers(prepared: Prepared, traffic: Traffic, choice: Choice) -> tuple[PricedLever, ...]:
    from poolsplit.planning.levers import price_levers

    assert prepared.levers is not None  # noqa: S101 -- asked before
    offered = prepared.levers(choice.recommended.changes)
    return price_levers(prepared.deployment, traffic, offered, choice.recommended)


def read_traffic(request: WorkloadRequest) -> Traffic:
    """The traffic of a command line.

    Raises:
        UsageError: No length, or lengths given in two ways.
    """
    overflow = DEFAULT_OVERFLOW_FRACTION if request.overflow is None else request.overflow
    if not 0 < overflow < 1:
        raise UsageError(
            f"an overflow of {overflow:g} is not a chance", where="--overflow", hint="between 0 and 1, 0.05"
        )
    if request.concurrency is not None and request.concurrency < 1:
        raise UsageError(
            f"{request.concurrency} running requests cannot be planned for", where="--concurrency", hint="1 or more"
        )
    return Traffic(lengths=_lengths(request), overflow_fraction=overflow, concurrency=request.concurrency)


def _lengths(request: WorkloadRequest) -> LengthMix:
    pair = request.input is not None or request.output is not None
    given = [
        name
        for name, there in (
            ("--context", request.context),
            ("--input/--output", pair),
            ("--lengths", request.lengths),
            ("--trace", request.trace),
        )
        if there
    ]
    if len(given) != 1:
        what = "no length is given" if not given else f"lengths are given in {len(given)} ways: {', '.join(given)}"
        raise UsageError(what, hint="give --context N, --input N --output N, --lengths FILE or --trace FILE")
    if request.context is not None:
        return single_length(parse_count(request.context))
    if request.lengths is not None:
        return _mix(request.lengths)
    if request.trace is not None:
        return _trace_mix(request.trace)
    if request.input is None or request.output is None:
        raise UsageError("one of --input and --output is missing", hint="give both: mean tokens in and out")
    tokens_in, tokens_out = parse_count(request.input), parse_count(request.output)
    return single_length(tokens_in + tokens_out, origin="pairs", input_tokens=tokens_in)


def _mix(text: str) -> LengthMix:
    from pathlib import Path

    if "=" in text and not Path(text).exists():
        return read_percentiles(text)
    return read_length_lines(_read_text(text).splitlines())


def _read_text(name: str) -> str:
    import sys
    from pathlib import Path

    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(
            f"cannot read the lengths: {reason}", where=name, hint="a file of lengths, or `p50=2k,p90=32k,p99=128k`"
        ) from None


def _trace_mix(name: str) -> LengthMix:
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions

    trace = read_trace([name], ReadOptions())
    totals = (trace.input_tokens + trace.output_tokens).tolist()
    counts: dict[int, float] = {}
    for tokens in totals:
        counts[tokens] = counts.get(tokens, 0.0) + 1.0
    return mix_of(counts.items(), origin="trace", input_tokens_mean=float(trace.input_tokens.mean()))


def _answer(prepared: Prepared, traffic: Traffic, choice: Choice) -> PlanAnswer:
    best = choice.recommended
    deployment, solution = prepared.deployment, best.solution
    constants = constants_of(solution, prepared.constants_origin, prepared.token_equiv_published)
    rest = _rest(prepared, solution)
    flags = deployment.flag_words(best.changes) or _split_words(deployment, solution)
    return PlanAnswer(
        model=prepared.model,
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
        stages=stage_figures(solution),
        notes=_notes(choice, constants),
        derivation=tuple(_steps(prepared, traffic, choice, constants, rest)),
        warnings=tuple(dict.fromkeys((*prepared.warnings, *solution.warnings))),
    )


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
    same = "gives as many" if gap <= 0 else f"gives {gap} fewer"
    return f"the closed form (S + D) x token_equiv x DCP / L {same}: {formula.running_requests}; {why}"


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
    if choice.current is not None and choice.current.running_requests >= best.running_requests:
        notes.append("no split runs more requests of this traffic: the one that stands is as good as any")
    if best.binding == "request_cap":
        notes.append("the request cap binds before either pool: raise it, and the split comes to count")
    return tuple(notes)


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
    yield Step(name="state_slots", value=pools.state_slots, unit="slots", source="solver at the recommended split")
    yield Step(name="kv_tokens", value=pools.logical_tokens, unit="tokens", source="solver at the recommended split")
    yield Step(
        name="state_requests", value=outcome.state_requests, unit="requests", source="slots // slots per request"
    )
    yield Step(name="kv_requests", value=outcome.kv_requests, unit="requests", source="requests that the KV pool holds")
    yield Step(name="max_running_requests", value=outcome.granted, unit="requests", source="granted by the engine")
    yield Step(name="running_requests", value=outcome.running_requests, unit="requests", source="the least of these")
