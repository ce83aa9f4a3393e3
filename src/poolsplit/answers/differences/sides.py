"""The two sides of a comparison: a log, a plan document, or a launch that is solved."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.answers.launch_memory import find_memory
from poolsplit.answers.logs.launches import NothingToPredictError, launch_of, launch_values_of, named_device
from poolsplit.answers.logs.predict import deployment_of_log
from poolsplit.answers.opened_launch import open_launch
from poolsplit.answers.planner.prepare import deployment_of
from poolsplit.engines.launch_difference import Outcome
from poolsplit.engines.sglang.command import parse_launch
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import InputError, PoolsplitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.boot_report import BootReport, ReadAnswer
    from poolsplit.engines.sglang.deployment import SglangDeployment

_DOCUMENT_HEAD_BYTES = 64
_MOST_SCRIPT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two."""

    kind: str
    values: Mapping[str, Any]
    env: Mapping[str, str] | None = None
    """Environment variables of a launch command; None where nothing shows them."""
    warnings: tuple[str, ...] = ()
    outcome: Outcome
    deployment: SglangDeployment | None = None
    version: str | None = None
    reason: str = ""
    """Why it cannot be solved again."""


def side_of(text: str, request: LaunchRequest, read: Callable[[str], ReadAnswer]) -> Side:
    """What a log file, a plan document or a launch command says.

    Raises:
        InputError: It is none of these.
    """
    path = Path(text)
    if text != "-" and not _is_file(path):
        return _launch_side(text, request)
    if text != "-" and path.read_bytes()[:_DOCUMENT_HEAD_BYTES].lstrip().startswith(b"{"):
        return _plan_side(path)
    boot = read(text).report.last
    if boot is not None and boot.engine == "sglang" and (boot.pool_ranks or boot.cap or boot.errors or boot.runtime):
        return _log_side(boot, request)
    return _script_side(text, boot, request)


def _script_side(name: str, boot: BootReport | None, request: LaunchRequest) -> Side:
    """A file that is no log may hold a launch command, as scripts do."""
    hint = "name a log of a start, a plan document, or quote a launch command"
    if boot is not None and boot.foreign is not None:
        raise InputError(f"this is a log of {boot.foreign.engine}; only SGLang is compared", hint=hint, where=name)
    if name != "-" and Path(name).is_file():
        with Path(name).open("rb") as script:
            text = script.read(_MOST_SCRIPT_BYTES).decode("utf-8", errors="replace")
        with suppress(UsageError):
            parse_launch(text, switches_for(request.release).version)
            return _launch_side(text, request)
    raise InputError("there is no start of SGLang, no plan and no launch command in it", hint=hint, where=name)


def _is_file(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _launch_side(text: str, request: LaunchRequest) -> Side:
    try:
        launch = parse_launch(text, switches_for(request.release).version)
    except UsageError as error:
        raise InputError(
            f"`{text[:60]}` is no file and no launch command: {error.message}",
            hint="name a log, a plan document, or quote a launch command",
        ) from None
    try:
        opened = open_launch(request, launch)
        memory = find_memory(request, opened)
    except PoolsplitError as error:
        return Side(
            kind="launch",
            values=launch.values,
            env=launch.env,
            warnings=launch.warnings,
            outcome=Outcome(origin=str(error)),
            reason=str(error),
            version=launch.release,
        )
    deployment = deployment_of(opened, memory.free)
    return Side(
        kind="launch",
        values=launch.values,
        env=launch.env,
        warnings=launch.warnings,
        outcome=outcome_under(deployment, {}),
        deployment=deployment,
        version=opened.switches.version,
    )


def _log_side(boot: BootReport, request: LaunchRequest) -> Side:
    values = launch_values_of(boot.launch) if boot.launch else {}
    slots = [rank.state.state_slots for rank in boot.pool_ranks if rank.state and rank.state.state_slots is not None]
    tokens = [rank.kv_tokens for rank in boot.pool_ranks if rank.kv_tokens is not None]
    outcome = Outcome(
        state_slots=min(slots, default=boot.cap.state_slots if boot.cap else None),
        kv_tokens=min(tokens, default=None),
        requests=boot.granted_running_requests,
        slots_per_request=boot.slots_per_request,
        binding=boot.binding,
        origin="log",
    )
    try:
        launch = launch_of(boot, named_device(request.gpu) if request.gpu else None)
        deployment, version = deployment_of_log(boot, launch)
    except (NothingToPredictError, PoolsplitError) as error:
        return Side(kind="log", values=values, outcome=outcome, reason=str(error), version=boot.version)
    return Side(kind="log", values=values, outcome=outcome, deployment=deployment, version=version)


def _plan_side(path: Path) -> Side:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"the document is damaged: {error}", where=str(path), hint="write it again") from None
    figures = document.get("recommended") or document.get("current")
    if not isinstance(figures, dict):
        raise InputError("the document is no plan", where=str(path), hint="write one with `poolsplit plan --json`")
    outcome = Outcome(
        state_slots=figures.get("state_slots"),
        kv_tokens=figures.get("kv_tokens"),
        requests=figures.get("max_running_requests"),
        slots_per_request=(document.get("constants") or {}).get("slots_per_request"),
        binding=figures.get("binding"),
        origin="plan",
    )
    try:
        values: Mapping[str, Any] = parse_launch(document.get("launch_command") or "").values
    except UsageError:
        values = {}
    version = (document.get("engine") or {}).get("version")
    return Side(
        kind="plan", values=values, outcome=outcome, version=version, reason="a plan document is not solved again"
    )


def borrowing(side: Side, other: SglangDeployment) -> Side:
    """A launch without a card, solved under the other side's card and memory."""
    from poolsplit.engines.sglang.command.launch import flags_of_values

    deployment = replace(other, flags=flags_of_values(side.values, side.env or {}), launch=None)
    return replace(side, deployment=deployment, outcome=outcome_under(deployment, {}), version=other.switches.version)


def outcome_under(deployment: SglangDeployment, changes: Mapping[str, Any]) -> Outcome:
    """What a launch grants with some flags changed, or why it is refused."""
    try:
        pools = deployment.solve(changes).pools
    except PoolsplitError as error:
        return Outcome(origin=f"refused: {error}")
    return Outcome(
        state_slots=pools.state_slots,
        kv_tokens=pools.kv_tokens,
        requests=pools.max_running_requests,
        slots_per_request=pools.slots_per_request,
        origin="resolved",
    )
