"""The split that follows from a trace: every split solved, the best found by replays, its rivals beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.planner.answer import answer_of
from poolsplit.answers.planner.trace_levers import levers_on_trace
from poolsplit.answers.planner.trace_rivals import rivals_of, split_of
from poolsplit.answers.planner.trace_server import server_of
from poolsplit.answers.planner.trace_what_if import what_if
from poolsplit.answers.planner.traffic import with_length_warnings
from poolsplit.answers.surfaces.answer import line_answer
from poolsplit.answers.surfaces.confirm import confirmed, scheduler_pace
from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.answers.surfaces.request import timing_of
from poolsplit.derivation import Step
from poolsplit.errors import InputError, LaunchRefusedError, UsageError
from poolsplit.plan_answer import TraceFigures, TraceRival
from poolsplit.planning.choose import choose
from poolsplit.planning.question import solved_or_lacking
from poolsplit.planning.trace_goal import least_running
from poolsplit.surface.line import SolvedBudget, shares
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.answers.planner.requests import PlanRequest, Prepared
    from poolsplit.answers.surfaces.answer import LineAnswer
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.engines.engine import Solution
    from poolsplit.plan_answer import PlanAnswer
    from poolsplit.planning.outcome import Outcome
    from poolsplit.planning.trace_goal import Goal
    from poolsplit.surface.cells import Split
    from poolsplit.traces.trace import Trace
    from poolsplit.workload.traffic import Traffic

RATIO_LOSS = 0.005
"""A ratio is recommended instead of a pin when it recomputes at most this much more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceGoal:
    """What is asked of a trace."""

    goal: Goal
    pace: Mapping[str, Any]
    """Mode, sessions and speeds, as a command line names them."""
    levers: bool = True
    """Replay what changes the checkpoints kept: chunk, track interval and the limit a path."""


def answer_from_trace(request: PlanRequest, prepared: Prepared, traffic: Traffic) -> PlanAnswer:
    """The plan of a command line that names a trace and a goal.

    Raises:
        UsageError: No trace.
    """
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions

    if request.workload.trace is None or request.goal is None:
        raise UsageError("a goal needs a trace", where="--goal", hint="give --trace FILE")
    trace = read_trace([request.workload.trace], ReadOptions())
    pace = {**request.pace, "mode": request.pace.get("mode") or "order"}
    return plan_from_trace(prepared, traffic, trace, TraceGoal(goal=request.goal, pace=pace, levers=request.levers))


def plan_from_trace(prepared: Prepared, traffic: Traffic, trace: Trace, asked: TraceGoal) -> PlanAnswer:
    """The plan whose split recomputes fewest tokens of a trace among those that run enough at once.

    Raises:
        InputError: The trace has lengths only, or no times where they are needed.
        InfeasiblePlanError: No split holds what runs at once.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
    """
    choice = choose(prepared.asked(replace(traffic, concurrency=None)))
    prepared = with_length_warnings(prepared, traffic, choice)
    solution = choice.recommended.solution
    server = server_of(prepared, solution, choice.recommended.changes)
    ground = ground_of(trace, version=prepared.version, server=server, timing=timing_of(asked.pace))
    line_of = _lines(prepared, traffic, solution, asked.goal)
    line = line_of(ground)
    best = _flags_for(prepared, traffic, ground, line)
    answer = answer_of(prepared, traffic, replace(choice, recommended=best, optimum=None, pin_reason=_reason(best)))
    figures = _figures(ground, line, rivals_of(prepared, traffic, choice, ground, best), asked.goal)
    figures = replace(
        figures,
        what_if=what_if(ground, split_of(best.solution), line_of),
        levers=levers_on_trace(prepared, traffic, ground, best) if asked.levers else (),
    )
    return replace(answer, trace=figures, derivation=(*answer.derivation, *_steps(ground, line)))


def _lines(prepared: Prepared, traffic: Traffic, solution: Solution, goal: Goal) -> Callable[[Ground], LineAnswer]:
    """The best split on this launch's own line, for any order of the trace."""
    budget = _budget(prepared, solution)
    page = solution.page_tokens * solution.dcp_size
    each = solution.pools.slots_per_request or 1

    def running(split: Split) -> int:
        return min(split.state_slots // each, traffic.requests_held(split.kv_tokens, page))

    least = least_running(goal, (running(budget.split_at(share)) for share in shares()), traffic.concurrency)
    return lambda ground: line_answer(ground, budget, allowed=lambda split: running(split) >= least)


def _budget(prepared: Prepared, solution: Solution) -> SolvedBudget:
    """Bytes and prices of one rank, and the solver's own splits of them."""
    pools, deployment = solution.pools, prepared.deployment
    state, row = pools.state, max(stage.kv_bytes_per_token for stage in pools.stages)
    if state is None or not row:
        raise InputError("there are no two pools to split", hint="plan a model with state layers")
    seen: dict[int, Split | None] = {}

    def solve(slots: int) -> Split | None:
        if slots not in seen:
            solved = solved_or_lacking(deployment, deployment.pin_changes(slots * solution.workers))
            seen[slots] = None if solved is None else split_of(solved)
        return seen[slots]

    return SolvedBudget(
        total_bytes=int(min(stage.rest_gib for stage in pools.stages) * GIB),
        state_bytes=int(state.charged_bytes_per_slot),
        kv_bytes=float(row) / solution.dcp_size,
        solve=solve,
    )


def _flags_for(prepared: Prepared, traffic: Traffic, ground: Ground, line: LineAnswer) -> Outcome:
    """A ratio of two digits where it recomputes hardly more, else the slots outright."""
    deployment, workers = prepared.deployment, prepared.deployment.layout({}).workers
    question = prepared.asked(traffic)
    pin = question.outcome(deployment.pin_changes(line.best.state_slots * workers))
    share = (line.best.state_slots + line.budget.padding_slots) * line.budget.state_bytes / line.budget.total_bytes
    ratio = float(f"{share / max(1e-9, 1 - share):.2g}")
    try:
        by_ratio = question.outcome(deployment.ratio_changes(ratio))
    except LaunchRefusedError:
        return pin
    if not by_ratio.solution.ratio_counts or by_ratio.running_requests < pin.running_requests:
        return pin
    loss = ground.replays.recomputed(split_of(by_ratio.solution)) / max(1, line.recomputed_tokens) - 1
    return by_ratio if loss <= RATIO_LOSS else pin


def _reason(best: Outcome) -> str | None:
    return None if best.mode == "ratio" else "no ratio of two digits gives this split"


def _figures(ground: Ground, line: LineAnswer, rivals: tuple[TraceRival, ...], goal: Goal) -> TraceFigures:
    _, reason = scheduler_pace(ground)
    by_scheduler = next((c for c in confirmed(ground, line) if c.role == "best"), None)
    cached = None if by_scheduler is None else by_scheduler.cached_tokens
    states, kv = line.gained_per_gib["state"], line.gained_per_gib["kv"]
    return TraceFigures(
        goal=goal,
        mode=ground.timing.mode,
        sessions=ground.timing.sessions,
        requests=len(ground.tree),
        input_tokens=ground.input_tokens,
        reusable_fraction=ground.endless.cached_tokens / max(1, ground.input_tokens),
        binding=None if max(states, kv) <= 0 else "state" if states > kv else "kv",
        state_tokens_per_gib=states,
        kv_tokens_per_gib=kv,
        rivals=rivals,
        cliff_pool=line.cliff_side,
        cliff_tokens=line.cliff_tokens,
        least_recomputed_tokens=line.least_recomputed_tokens,
        scheduler_recomputed_tokens=None if cached is None else ground.input_tokens - cached,
        scheduler_reason=reason if by_scheduler is None else by_scheduler.reason,
        replays=line.replays,
    )


def _steps(ground: Ground, line: LineAnswer) -> tuple[Step, ...]:
    law = f"{ground.config.rules.engine} {ground.config.rules.version} ({ground.config.rules.evidence})"
    return (
        Step(name="trace_input_tokens", value=ground.input_tokens, unit="tokens", source="whole prompts of the trace"),
        Step(name="line_splits", value=len(line.splits), unit="splits", source="start-up solver, pinned slots"),
        Step(name="line_replays", value=line.replays, unit="replays", source=f"ordered replay, cache law of {law}"),
        Step(
            name="trace_recomputed_tokens",
            value=line.recomputed_tokens,
            unit="tokens",
            source="pattern search at steps of 8, 4, 2 and 1 splits",
        ),
    )
