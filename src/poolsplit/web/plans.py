"""A plan for the page: the command line's document, and the picture of both pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit import api
from poolsplit.report.plan_document import plan_document
from poolsplit.report.whole_document import whole

if TYPE_CHECKING:
    from poolsplit.web.asked import PlanWords


def plan_answer(asked: PlanWords) -> dict[str, Any]:
    """The document of one plan.

    Raises:
        InputError: Something is not understood.
        LaunchRefusedError: The engine would refuse the launch whatever the split.
        InfeasiblePlanError: Nothing fits.
    """
    answer = api.plan(
        asked.request(),
        workload=asked.workload.given(),
        sessions=asked.sessions.given(),
        levers=asked.levers,
        pair=asked.pair,
        compare_version=asked.compare_version,
        picture=True,
    )
    return whole(plan_document(answer))
