"""`poolsplit plan`: which split to set for a model, cards and traffic."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.launch_tokens import LaunchTokens
from poolsplit.cli.options import (
    DeviceOptions,
    MemoryOptions,
    OutputOptions,
    SessionOptions,
    TraceGoalOptions,
    WorkloadOptions,
)
from poolsplit.cli.output import emit


def plan(  # noqa: PLR0913  a command's option groups are its arguments
    model: str | None = None,
    *,
    boot_log: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    engine_version: str | None = None,
    compare_version: str | None = None,
    levers: bool = True,
    pair: Annotated[bool, Parameter(negative="")] = False,
    workload: WorkloadOptions = WorkloadOptions(),  # noqa: B008  frozen
    sessions: SessionOptions = SessionOptions(),  # noqa: B008  frozen
    replayed: TraceGoalOptions = TraceGoalOptions(),  # noqa: B008  frozen
    device: DeviceOptions = DeviceOptions(),  # noqa: B008  frozen
    memory: MemoryOptions = MemoryOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
    launch: Annotated[LaunchTokens, Parameter(parse=False)] = LaunchTokens(),  # noqa: B008  frozen
) -> None:
    """Which split to set for a model, cards and traffic.

    Engine flags are taken in the engine's own spelling; a whole launch command may stand after `--`.

    Args:
        model: Catalog id, folder or `config.json`, or hub id; a pasted launch or a log names its own.
        boot_log: Start-up log of a running server: constants and bytes are measured there.
        engine_version: Release whose rules answer, such as `0.5.20`.
        compare_version: Another release whose rules answer beside it.
        levers: Price what else could be changed.
        pair: Plan a prefill and a decode server together, each with its own length and rules.
        workload: What is to be served.
        sessions: Sessions to keep.
        replayed: A split that follows from a trace's own requests.
        device: The card.
        memory: Free memory around the weights.
        out: Where the answer goes.
        launch: Engine flags and pasted command.
    """
    from dataclasses import asdict

    from poolsplit import api
    from poolsplit.report.plan_document import plan_document
    from poolsplit.report.plan_text import plan_text

    request = api.launch_request(
        model=model,
        engine_version=engine_version,
        engine_flags=launch.engine,
        pasted=launch.pasted,
        **asdict(device),
        **asdict(memory),
    )
    asked: dict[str, object] = {
        "boot_log": boot_log,
        "compare_version": compare_version,
        "levers": levers,
        "pair": pair,
    }
    asked |= _trace_goal(replayed)
    answer = api.plan(request, workload=asdict(workload), sessions=asdict(sessions), **asked)
    emit(out, document=plan_document(answer), text=plan_text(answer, explain=out.explain), warnings=answer.warnings)


def _trace_goal(options: TraceGoalOptions) -> dict[str, object]:
    pace = {
        "mode": options.trace_mode,
        "sessions": options.live_sessions,
        "prefill_tokens_per_s": options.prefill_tokens_per_s,
        "decode_tokens_per_s": options.decode_tokens_per_s,
    }
    return {"goal": options.goal, "pace": pace}
