"""A plan as the JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poolsplit.plan_answer import PlanAnswer


def plan_document(answer: PlanAnswer) -> dict[str, Any]:
    """The document's fields, in the order of the contract."""
    document: dict[str, Any] = {
        "command": "plan",
        "engine": {"name": "sglang", "version": answer.version},
        "model": answer.model,
        "device": answer.device,
        "launch": answer.launch_values,
        "workload": answer.workload,
        "constants": asdict(answer.constants),
        "rest_bytes": answer.rest.bytes,
        "rest_origin": answer.rest.origin,
        "rest_interval_bytes": list(answer.rest.interval_bytes),
        "rest_source": answer.rest.source,
        "formula_ratio": answer.formula_ratio,
        "formula_note": answer.formula_note,
        "current": None if answer.current is None else asdict(answer.current),
        "recommended": asdict(answer.recommended),
        "pin_reason": answer.pin_reason,
        "launch_command": answer.launch_command,
        "levers": [asdict(lever) for lever in answer.levers],
        "stages": [asdict(stage) for stage in answer.stages],
        "sessions": None if answer.sessions is None else _sessions(answer),
        "headroom": [asdict(buffer) for buffer in answer.headroom],
        "free_after_pools_bytes": answer.free_after_pools_bytes,
        "mix": None if answer.mix is None else asdict(answer.mix),
        "compared": None if answer.compared is None else asdict(answer.compared),
        "trace": None if answer.trace is None else asdict(answer.trace),
        "pair": [asdict(role) for role in answer.pair],
        "notes": list(answer.notes),
        "warnings": list(answer.warnings),
        "derivation": [asdict(step) for step in answer.derivation],
    }
    if answer.current is None:
        document["current_reason"] = answer.current_refused
    if answer.formula_ratio is None:
        document["formula_ratio_reason"] = answer.formula_note
    return document


def _sessions(answer: PlanAnswer) -> dict[str, Any]:
    assert answer.sessions is not None  # noqa: S101 -- the caller asked
    fields = asdict(answer.sessions)
    return {**{name: value for name, value in fields.items() if name != "details"}, **fields["details"]}
