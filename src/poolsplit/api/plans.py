"""The split to set, and what is read or made from a plan file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.live.expected import PlannedSplit
    from poolsplit.plan_answer import PlanAnswer


def plan(
    request: LaunchRequest, *, workload: Mapping[str, Any], sessions: Mapping[str, Any] | None = None, **asked: Any
) -> PlanAnswer:
    """The split to set for one launch and one traffic.

    Args:
        request: The launch: model, card, memory, flags; see `launch_request`.
        workload: Lengths and concurrency, by the fields of `planner.WorkloadRequest`: `{"context": "9216"}`.
        sessions: Sessions to keep, by the fields of `planner.SessionRequest`.
        **asked: The other fields of `planner.PlanRequest`: `boot_log`, `compare_version`, `levers`, `picture`.

    Raises:
        InputError: Something cannot be read or found, or there are no two pools to split.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
        InfeasiblePlanError: Nothing fits; the hint names the nearest plan that does.
    """
    from poolsplit.answers import planner

    return planner.plan(
        planner.PlanRequest(
            launch=request,
            workload=planner.WorkloadRequest(**workload),
            sessions=planner.SessionRequest(**(sessions or {})),
            **asked,
        )
    )


def planned_split(plan: str) -> PlannedSplit:
    """The split that a plan file recommends, with what it predicts.

    Raises:
        InputError: The file cannot be read, or is no plan.
    """
    from poolsplit.answers.live.plans import planned_split_of

    return planned_split_of(plan)


def dashboard_files(plan: str, *, gateway: bool = False) -> dict[str, Any]:
    """A dashboard and alert rules for a plan file: a decoded JSON object and a text, by file name.

    Raises:
        InputError: The plan cannot be read.
    """
    from poolsplit.answers.live.plans import dashboard_files as files_of

    return files_of(plan, gateway=gateway)
