"""`poolsplit plan`: which split to set for a model, cards and traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from poolsplit.cli.launch_tokens import LaunchTokens
from poolsplit.cli.options import HardwareOptions, PageOptions, ReleaseOptions, TraceGoalOptions, TrafficOptions
from poolsplit.cli.output import emit
from poolsplit.cli.page_file import check_page, write_page
from poolsplit.cli.refused import emit_refusal

if TYPE_CHECKING:
    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.plan_answer import PlanAnswer


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Where the constants come from, and what is answered beside the split."""

    boot_log: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Start-up log of a running server: constants and bytes are measured there."""
    release: ReleaseOptions = ReleaseOptions()  # noqa: RUF009  frozen
    levers: bool = True
    """Price what else could be changed."""
    pair: Annotated[bool, Parameter(negative="")] = False
    """Plan a prefill and a decode server together, each with its own length and rules."""


def plan(
    model: str | None = None,
    *,
    asked: PlanOptions = PlanOptions(),
    traffic: TrafficOptions = TrafficOptions(),  # noqa: B008  frozen
    hardware: HardwareOptions = HardwareOptions(),  # noqa: B008  frozen
    out: PageOptions = PageOptions(),  # noqa: B008  frozen
    launch: Annotated[LaunchTokens, Parameter(parse=False)] = LaunchTokens(),  # noqa: B008  frozen
) -> int:
    """Which split to set for a model, cards and traffic.

    Engine flags are taken in the engine's own spelling; a whole launch command may stand after `--`.

    Args:
        model: Catalog id, folder or `config.json`, or hub id; a pasted launch or a log names its own.
        asked: Where the constants come from, and what is answered beside the split.
        traffic: What is to be served and kept.
        hardware: The card and its free memory around the weights.
        out: Where the answer goes.
        launch: Engine flags and pasted command.
    """
    from dataclasses import asdict

    from poolsplit import api
    from poolsplit.errors import InfeasiblePlanError, LaunchRefusedError
    from poolsplit.report.plan_document import plan_document
    from poolsplit.report.plan_text import plan_text

    check_page(out.html, "plan")
    request = api.launch_request(
        model=model,
        engine_version=asked.release.engine_version,
        engine_flags=launch.engine,
        pasted=launch.pasted,
        **asdict(hardware),
    )
    try:
        answer = _answer(request, asked, traffic, picture=out.html is not None)
    except LaunchRefusedError as error:
        return emit_refusal("plan", error, request, out, from_log=asked.boot_log is not None)
    document = plan_document(answer)
    write_page(out.html, document)
    emit(out, document=document, text=plan_text(answer, explain=out.explain), warnings=answer.warnings)
    lost = answer.sessions is not None and not answer.sessions.fits
    return InfeasiblePlanError.exit_code if lost else 0


def _answer(request: LaunchRequest, asked: PlanOptions, traffic: TrafficOptions, *, picture: bool) -> PlanAnswer:
    from dataclasses import asdict

    from poolsplit import api

    return api.plan(
        request,
        workload=asdict(traffic.workload),
        sessions=asdict(traffic.sessions),
        boot_log=asked.boot_log,
        compare_version=asked.release.compare_version,
        levers=asked.levers,
        pair=asked.pair,
        picture=picture,
        **_trace_goal(traffic.replayed),
    )


def _trace_goal(options: TraceGoalOptions) -> dict[str, object]:
    pace = {
        "mode": options.trace_mode,
        "sessions": options.live_sessions,
        "prefill_tokens_per_s": options.prefill_tokens_per_s,
        "decode_tokens_per_s": options.decode_tokens_per_s,
    }
    return {"goal": options.goal, "pace": pace}
