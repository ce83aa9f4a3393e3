"""A log report as one JSON document, with the names that other programs rely on."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsplit.derivation import step_documents
from poolsplit.engines.boot_report import finding_document
from poolsplit.report.read_rank import GIB_DECIMALS, interval_document, rank_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from poolsplit.engines.boot_facts import EngineError
    from poolsplit.engines.boot_report import (
        BootReport,
        LogReport,
        PeakMean,
        Prediction,
        ReadAnswer,
        RuntimeReport,
    )

_SECRET_NAMES = ("api_key", "password", "secret", "hf_token", "auth_token", "access_token")
_REDACTED = "(hidden)"


def read_document(answer: ReadAnswer, names: Sequence[str]) -> dict[str, Any]:
    """The whole answer; `schema_version` is put before it where it is written."""
    last = answer.report.last
    return {
        "command": "read",
        "engine": {"name": last.engine if last else None, "version": last.version if last else None},
        "inputs": list(names),
        "boots": boots_document(answer.report),
        "runtime": runtime_document(last.runtime) if last else None,
        "findings": [
            {**finding_document(finding), "price": None if finding.price is None else asdict(finding.price)}
            for finding in answer.findings
        ],
        "predictions": [_prediction(prediction) for prediction in answer.predictions],
        "predictions_reason": answer.predictions_reason,
        "matches": [asdict(match) for match in answer.matches],
        "withheld": list(answer.withheld),
        "missing": list(last.missing) if last else [],
        "warnings": list(answer.report.warnings),
        "derivation": step_documents(answer.derivation),
    }


def boots_document(report: LogReport) -> list[dict[str, Any]]:
    """Every start, oldest first."""
    return [boot_document(boot) for boot in report.boots]


def boot_document(boot: BootReport) -> dict[str, Any]:
    """One start."""
    document: dict[str, Any] = {
        "kind": boot.kind,
        "engine": boot.engine,
        "version": boot.version,
        "version_evidence": [hint.why for hint in boot.version_hints],
        "hybrid": boot.hybrid,
        "role": boot.role,
        "model": boot.model,
        "model_class": boot.model_class,
        "flags": flags_document(boot.launch.values) if boot.launch else {},
        "ranks": {label: rank_document(rank) for label, rank in boot.ranks.items()},
        "cap": None if boot.cap is None else asdict(boot.cap),
        "requested_running_requests": boot.requested_running_requests,
        "granted_running_requests": boot.granted_running_requests,
        "binding": boot.binding,
        "binding_reason": boot.binding_reason,
        "slots_per_request": boot.slots_per_request,
        "slots_per_request_reason": boot.slots_per_request_reason,
        "requests_by_slots_per_request": _requests_by_slots(boot),
        "errors": [_error(error) for error in boot.errors],
        "ready": boot.ready,
        "runtime": runtime_document(boot.runtime),
        "missing": list(boot.missing),
        "files": list(boot.files),
    }
    document.update(_other_pools(boot))
    return document


def _requests_by_slots(boot: BootReport) -> dict[str, int]:
    """Requests that the fewest printed slots carry, for each reservation that the engine may choose."""
    printed = [rank.state.state_slots for rank in boot.pool_ranks if rank.state and rank.state.state_slots is not None]
    slots = min(printed, default=boot.cap.state_slots if boot.cap else None)
    return {} if slots is None else {str(each): slots // each for each in boot.possible_slots_per_request}


def runtime_document(runtime: RuntimeReport | None) -> dict[str, Any] | None:
    """Periodic lines put together; null without any."""
    if runtime is None:
        return None
    return {
        "samples": runtime.samples,
        "running": _peak_mean(runtime.running),
        "queue": _peak_mean(runtime.queue),
        "kv_usage_fraction": _peak_mean(runtime.kv_usage_fraction),
        "state_usage_fraction": _peak_mean(runtime.state_usage_fraction),
        "cached_token_fraction": runtime.cached_token_fraction,
        "new_tokens": runtime.new_tokens,
        "cached_tokens": runtime.cached_tokens,
        "retractions": runtime.retractions,
        "retracted_requests": runtime.retracted_requests,
        "waiting_samples": runtime.waiting_samples,
        "state_full_samples": runtime.state_full_samples,
        "kv_full_samples": runtime.kv_full_samples,
        "kv_usage_while_state_full": runtime.kv_usage_while_state_full,
        "kv_pool_tokens_interval": interval_document(runtime.kv_pool_tokens),
        "state_pool_slots_interval": interval_document(runtime.state_pool_slots),
        "binding": runtime.binding,
    }


def flags_document(values: Mapping[str, object]) -> dict[str, Any]:
    """Flags as JSON values; secrets are hidden."""
    return {
        name: _REDACTED if value is not None and any(word in name for word in _SECRET_NAMES) else _plain(value)
        for name, value in values.items()
        if not name.startswith("_")
    }


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "version": prediction.version,
        "card": prediction.card,
        "holds": prediction.holds,
        "following": prediction.following,
        "refused": prediction.refused,
        "figures": [asdict(figure) for figure in prediction.figures],
    }


def _other_pools(boot: BootReport) -> Iterator[tuple[str, Any]]:
    if boot.unified is not None:
        yield "unified", asdict(boot.unified)
    if boot.elastic is not None:
        pool = boot.elastic
        padded, raw = pool.padded_bytes_per_layer_slot, pool.raw_bytes_per_layer_slot
        yield (
            "elastic",
            {**asdict(pool), "padding_factor": round(padded / raw, GIB_DECIMALS) if padded and raw else None},
        )
    if boot.foreign is not None:
        yield "other_engine", {"engine": boot.foreign.engine, **boot.foreign.figures}
    if boot.kv_reduction is not None:
        yield "kv_reduction", asdict(boot.kv_reduction)


def _error(error: EngineError) -> dict[str, Any]:
    return {"id": error.id, "figures": dict(error.figures), "text": error.text, "fatal": error.fatal}


def _peak_mean(figure: PeakMean | None) -> dict[str, float] | None:
    return asdict(figure) if figure else None


def _plain(value: object) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return flags_document({str(name): item for name, item in value.items()})
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
