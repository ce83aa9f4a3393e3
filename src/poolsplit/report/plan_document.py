"""A plan as the JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsplit.report import plan_reasons as reasons

if TYPE_CHECKING:
    from poolsplit.plan_answer import PlanAnswer, SplitFigures
    from poolsplit.plan_beside import RoleFigures


def plan_document(answer: PlanAnswer) -> dict[str, Any]:
    """The document's fields, in the order of the contract."""
    document: dict[str, Any] = {
        "command": "plan",
        "engine": {"name": "sglang", "version": answer.version},
        "model": answer.model,
        "device": answer.device,
        "launch": answer.launch_values,
        "workload": reasons.with_reasons(answer.workload, reasons.WORKLOAD),
        "constants": reasons.with_reasons(asdict(answer.constants), reasons.CONSTANTS),
        "rest_bytes": answer.rest.bytes,
        "rest_origin": answer.rest.origin,
        "rest_interval_bytes": list(answer.rest.interval_bytes),
        "rest_source": answer.rest.source,
        "formula_ratio": answer.formula_ratio,
        "formula_note": answer.formula_note,
        "current": _split(answer.current),
        "recommended": _split(answer.recommended),
        "pin_reason": answer.pin_reason,
        "launch_command": answer.launch_command,
        "cache": None if answer.cache is None else reasons.with_reasons(asdict(answer.cache), reasons.CACHE),
        "replicas": answer.replicas,
        "running_requests_of_all_replicas": answer.running_requests_of_all_replicas,
        "levers": [asdict(lever) for lever in answer.levers],
        "stages": [reasons.with_reasons(asdict(stage), reasons.STAGE) for stage in answer.stages],
        "sessions": None if answer.sessions is None else _sessions(answer),
        "headroom": [asdict(buffer) for buffer in answer.headroom],
        "free_after_pools_bytes": answer.free_after_pools_bytes,
        "mix": None if answer.mix is None else asdict(answer.mix),
        "compared": _compared(answer),
        "trace": None if answer.trace is None else reasons.with_reasons(asdict(answer.trace), reasons.TRACE),
        "pair": [_role(role) for role in answer.pair],
        "notes": list(answer.notes),
        "warnings": list(answer.warnings),
        "derivation": [asdict(step) for step in answer.derivation],
    }
    if answer.current is None and answer.current_refused is not None:
        document["current_reason"] = answer.current_refused
    if answer.formula_ratio is None:
        document["formula_ratio_reason"] = answer.formula_note
    if answer.picture is not None:
        from poolsplit.report.plan_picture import picture_document

        document["picture"] = picture_document(answer.picture, answer.stages)
    return reasons.with_reasons(document, reasons.PLAN)


def _split(figures: SplitFigures | None) -> dict[str, Any] | None:
    return None if figures is None else reasons.with_reasons(asdict(figures), reasons.SPLIT)


def _compared(answer: PlanAnswer) -> dict[str, Any] | None:
    if answer.compared is None:
        return None
    fields = {**asdict(answer.compared), "figures": _split(answer.compared.figures)}
    return reasons.with_reasons(fields, reasons.COMPARED)


def _role(role: RoleFigures) -> dict[str, Any]:
    fields = {**asdict(role), "current": _split(role.current), "recommended": _split(role.recommended)}
    return reasons.with_reasons(fields, {"current": "the launch does not start as it is"})


def _sessions(answer: PlanAnswer) -> dict[str, Any]:
    assert answer.sessions is not None  # noqa: S101 -- the caller asked
    fields = asdict(answer.sessions)
    flat = {**{name: value for name, value in fields.items() if name != "details"}, **fields["details"]}
    return reasons.with_reasons(flat, reasons.SESSIONS)
