"""One gate for servers, logs, plans and recordings: what each of them says, put before the same conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from poolsplit.answers.live.plans import read_json
from poolsplit.answers.live.watch import EXPORTER, WatchRequest, watch
from poolsplit.errors import EngineUnreachableError, InputError, UsageError
from poolsplit.live.expected import PLAN_HINT, Expected, from_plan
from poolsplit.live.gate import (
    CheckRow,
    Conditions,
    Figures,
    gate_document,
    judge_figures,
    plan_figures,
    server_figures,
)
from poolsplit.live.recording import is_session
from poolsplit.live.session import Pace
from poolsplit.live.verify import Comparison, Tolerances, size_comparison

if TYPE_CHECKING:
    from typing import Any

    from poolsplit.engines.boot_report import BootReport
    from poolsplit.live.fetch import Connection
    from poolsplit.live.gate import Split

_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One target and the conditions put to it."""

    target: str
    conditions: Conditions
    plan: str | None = None
    connection: Connection
    span_s: float | None = None
    """Watch a server for so long, and count reuse over that time; None counts since it started."""
    split: Split = "recommended"
    """Which split of a plan is judged."""


def check(gate: Gate) -> dict[str, Any]:
    """The answer as a document.

    Raises:
        InputError: A file that is neither a plan, a log nor a recording.
        EngineUnreachableError: The server does not answer.
    """
    figures = _figures(gate)
    rows: tuple[CheckRow, ...] = judge_figures(figures, gate.conditions)
    return gate_document(
        {"target": gate.target, "plan": gate.plan, "over_s": gate.span_s, "split": gate.split},
        figures,
        gate.conditions,
        rows,
    )


def _figures(gate: Gate) -> Figures:
    path = Path(gate.target)
    if not path.exists():
        if "://" not in gate.target and ":" not in gate.target:
            raise InputError("there is no such file", hint="give an address, a log or a plan", where=gate.target)
        return _watched(gate, kind="server")
    if gate.span_s is not None:
        raise UsageError("`--over` watches a server, and this is a file", hint="leave it out", where=gate.target)
    if is_session(gate.target):
        return _watched(gate, kind="session")
    if path.is_file() and _looks_like_json(path):
        if gate.plan is not None:
            raise UsageError("a plan is not held against a plan", hint="`poolsplit diff` compares two plans")
        plan = read_json(gate.target)
        expected = from_plan(plan, where=gate.target)
        if gate.split == "current" and not isinstance(plan.get("current"), dict):
            raise InputError("the plan does not hold its launch as it stands", hint=PLAN_HINT, where=gate.target)
        return plan_figures(plan, expected, split=gate.split)
    if gate.split != "recommended":
        raise UsageError("`--split` chooses between the splits of a plan", hint="leave it out", where=gate.target)
    return _logged(gate)


def _watched(gate: Gate, *, kind: str) -> Figures:
    looks, interval_s = (2, gate.span_s) if gate.span_s and kind == "server" else (1, 1.0)
    request = WatchRequest(
        targets=(gate.target,),
        plan=gate.plan,
        pace=Pace(interval_s=interval_s or 1.0, looks=looks if kind == "server" else None),
        connection=gate.connection,
        max_error=gate.conditions.max_error,
    )
    last = None
    for tick in watch(request):
        last = tick
    if last is None or not last.judged:
        reason = last.errors[0][1] if last and last.errors else "the recording is empty"
        raise EngineUnreachableError(reason, hint=EXPORTER.metrics_hint, where=gate.target)
    found = [server_figures(judged, kind="server" if kind == "server" else "session") for judged in last.judged]
    return found[0] if len(found) == 1 else _weakest(found)


def _weakest(found: list[Figures]) -> Figures:
    """Replicas behind one address: each must hold, so the weakest figure of each kind is judged."""
    running = [one.running_requests for one in found]
    cached = [one.cached_fraction for one in found]
    return replace(
        found[0],
        running_requests=None if None in running else min(value for value in running if value is not None),
        cached_fraction=None if None in cached else min(value for value in cached if value is not None),
        comparisons=tuple(row for one in found for row in one.comparisons),
    )


def _logged(gate: Gate) -> Figures:
    from poolsplit.answers.logs import read_answer

    answer = read_answer((gate.target,))
    boot = answer.report.last
    if boot is None or boot.engine is None:
        raise InputError(
            "neither a plan, a recording nor a log of a server",
            hint="give one of them, or an address",
            where=gate.target,
        )
    expected = from_plan(read_json(gate.plan), where=gate.plan) if gate.plan else None
    cached = boot.runtime.cached_token_fraction if boot.runtime else None
    return Figures(
        kind="log",
        running_requests=boot.granted_running_requests,
        running_reason=None
        if boot.granted_running_requests is not None
        else "no line of the log says what was granted",
        cached_fraction=cached,
        cached_reason="the log has no prefill lines" if cached is None else None,
        comparisons=_log_comparisons(boot, expected) if expected else (),
        derivation=tuple(answer.derivation),
        warnings=tuple(answer.report.warnings),
    )


def _log_comparisons(boot: BootReport, expected: Expected) -> tuple[Comparison, ...]:
    slots = [rank.state.state_slots for rank in boot.pool_ranks if rank.state and rank.state.state_slots is not None]
    rows = [rank.kv_tokens for rank in boot.pool_ranks if rank.kv_tokens is not None]
    dcp = expected.constants.dcp_size if expected.constants else 1
    sizes = Tolerances().sizes
    return (
        size_comparison("state_slots", expected.state_slots, min(slots, default=None), sizes),
        size_comparison("kv_tokens", expected.kv_tokens, min(rows) * dcp if rows else None, sizes),
        size_comparison("max_running_requests", expected.granted_requests, boot.granted_running_requests, sizes),
    )


def _looks_like_json(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            return handle.read(_HEAD_BYTES).lstrip()[:1] in (b"{", b"[") and path.suffix == ".json"
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", hint="check the file", where=str(path)) from None
