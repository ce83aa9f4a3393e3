"""A plan from what a command line says: the launch found, its pools solved, the split chosen, the answer put together.

Beside `api` on the same floor, and reached through it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.planner.answer import answer_of, median_notes
from poolsplit.answers.planner.headroom import with_headroom
from poolsplit.answers.planner.prepare import prepare
from poolsplit.answers.planner.requests import PlanRequest, SessionRequest, WorkloadRequest
from poolsplit.answers.planner.traffic import read_traffic, with_length_warnings
from poolsplit.errors import UsageError
from poolsplit.planning.choose import choose

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.plan_answer import PlanAnswer
    from poolsplit.planning.choose import Choice
    from poolsplit.workload.traffic import Traffic

__all__ = ["PlanRequest", "SessionRequest", "WorkloadRequest", "plan"]


def plan(request: PlanRequest) -> PlanAnswer:
    """The split to set for one launch and one traffic.

    Raises:
        InputError: Something cannot be read or found, or the model has no two pools to split.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
        InfeasiblePlanError: Nothing fits; the hint names the nearest plan that does.
    """
    _check_goal(request)
    traffic = read_traffic(request.workload)
    prepared = prepare(request)
    if request.goal is not None:
        from poolsplit.answers.planner.from_trace import answer_from_trace

        return answer_from_trace(request, prepared, traffic)
    choice = choose(prepared.asked(traffic))
    prepared = with_length_warnings(prepared, traffic, choice)
    answer = answer_of(prepared, traffic, choice)
    chosen = choice.recommended
    if request.sessions.is_asked:
        from poolsplit.answers.planner.sessions import with_sessions

        answer, chosen = with_sessions(answer, prepared, traffic, choice, request.sessions)
    answer = replace(answer, notes=(*answer.notes, *median_notes(traffic, chosen)))
    answer = with_headroom(answer, prepared, chosen)
    return _asked_beside(request, answer, prepared, traffic, replace(choice, recommended=chosen))


def _check_goal(request: PlanRequest) -> None:
    """A goal comes from replays, whose speeds mean nothing without one, and which weigh nothing else.

    Raises:
        UsageError: Something would be dropped.
    """
    if request.goal is None:
        if any(value is not None for value in request.pace.values()):
            raise UsageError("a pace of replays is given and no goal", hint="give --goal with --trace FILE")
        return
    beside = {
        "--sessions": request.sessions.is_asked,
        "--compare-version": request.compare_version is not None,
        "--pair": request.pair,
    }
    for option, given_too in beside.items():
        if given_too:
            raise UsageError(f"`{option}` does not go with --goal", hint=f"leave out `{option}`, or plan twice")


def _asked_beside(
    request: PlanRequest, answer: PlanAnswer, prepared: Prepared, traffic: Traffic, choice: Choice
) -> PlanAnswer:
    """Levers, the spread, another release and a pair of roles, where they are asked for or mean something."""
    if request.levers and prepared.levers is not None:
        from poolsplit.planning.levers import price_levers

        offered = prepared.levers(choice.recommended.changes)
        for_sessions = answer.sessions is not None and answer.sessions.fits
        levers = price_levers(prepared.asked(traffic), offered, choice.recommended, hold_split=for_sessions)
        answer = replace(answer, levers=levers)
    if not traffic.lengths.is_single:
        from poolsplit.planning.mix import mix_figures

        answer = replace(answer, mix=mix_figures(prepared.asked(traffic), choice.recommended))
    if request.compare_version is not None:
        from poolsplit.answers.planner.releases import compare_release

        answer = replace(answer, compared=compare_release(answer, prepared, traffic, request.compare_version))
    if request.pair:
        from poolsplit.answers.planner.roles import pair_of_roles

        answer = replace(answer, pair=pair_of_roles(prepared, traffic))
    if request.picture:
        from poolsplit.planning.picture import picture_of

        answer = replace(answer, picture=picture_of(prepared.asked(traffic), choice))
    return answer
