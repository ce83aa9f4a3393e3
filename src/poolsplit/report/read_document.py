"""A log report as one JSON document, with the names that other programs rely on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from poolsplit.derivation import Step
    from poolsplit.engines.boot_facts import Batch, EngineError, GraphCapture, KvPool, PrintedSize
    from poolsplit.engines.boot_report import (
        BootReport,
        CatalogMatch,
        Finding,
        Interval,
        LogReport,
        PeakMean,
        Prediction,
        RankReport,
        ReadAnswer,
        RuntimeReport,
    )

_SECRET_NAMES = ("api_key", "password", "secret", "hf_token", "auth_token", "access_token")
_REDACTED = "(hidden)"
GIB_DECIMALS = 4


def read_document(answer: ReadAnswer, names: Sequence[str]) -> dict[str, Any]:
    """The whole answer; `schema_version` is put before it where it is written."""
    last = answer.report.last
    return {
        "command": "read",
        "engine": {"name": last.engine if last else None, "version": last.version if last else None},
        "inputs": list(names),
        "boots": boots_document(answer.report),
        "runtime": runtime_document(last.runtime) if last else None,
        "findings": [finding_document(finding) for finding in answer.findings],
        "predictions": [_prediction(prediction) for prediction in answer.predictions],
        "predictions_reason": answer.predictions_reason,
        "matches": [_match(match) for match in answer.matches],
        "withheld": list(answer.withheld),
        "missing": list(last.missing) if last else [],
        "warnings": list(answer.report.warnings),
        "derivation": [_step(step) for step in answer.derivation],
    }


def boots_document(report: LogReport) -> list[dict[str, Any]]:
    """Every start, oldest first."""
    return [boot_document(boot) for boot in report.boots]


def boot_document(boot: BootReport) -> dict[str, Any]:
    """One start."""
    cap = boot.cap
    document: dict[str, Any] = {
        "kind": boot.kind,
        "engine": boot.engine,
        "version": boot.version,
        "version_evidence": [hint.why for hint in boot.version_hints],
        "hybrid": boot.hybrid,
        "model": boot.model,
        "model_class": boot.model_class,
        "flags": flags_document(boot.launch.values) if boot.launch else {},
        "ranks": {label: rank_document(rank) for label, rank in boot.ranks.items()},
        "cap": cap
        and {
            "granted": cap.granted,
            "state_slots": cap.state_slots,
            "slots_per_request": cap.slots_per_request,
        },
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


def rank_document(rank: RankReport) -> dict[str, Any]:
    """One rank: printed figures as printed, worked-out ones beside their interval."""
    state, summary = rank.state, rank.summary
    kv = rank.kv[0] if rank.kv else None
    load = rank.loads[-1] if rank.loads else None
    document: dict[str, Any] = {
        "max_mamba_cache_size": state.state_slots if state else None,
        **_printed("conv_state_gib", state.conv if state else None),
        **_printed("ssm_state_gib", state.ssm if state else None),
        **_printed("intermediate_ssm_gib", state.scratch_ssm if state else None),
        **_printed("intermediate_conv_gib", state.scratch_conv if state else None),
        **_worked_out("state_bytes_per_slot", rank.state_bytes_per_slot),
        **_worked_out("ssm_bytes_per_slot", rank.ssm_bytes_per_slot),
        **_worked_out("conv_bytes_per_slot", rank.conv_bytes_per_slot),
        "kv_tokens": rank.kv_tokens,
        "kv_dtype": kv.dtype if kv else None,
        **_printed("k_gib", kv.k if kv else None),
        **_printed("v_gib", kv.v if kv else None),
        **_printed("kv_gib", kv.kv if kv else None),
        **_worked_out("kv_bytes_per_token", rank.kv_bytes_per_token),
        "target_kv_bytes_per_token_interval": _interval(rank.row_bytes(0)),
        "draft_kv": [
            {**_kv_pool(pool), "kv_bytes_per_token_interval": _interval(rank.row_bytes(number))}
            for number, pool in enumerate(rank.kv[1:], 1)
        ],
        "token_equiv_interval": _interval(rank.token_equiv),
        "scratch_states_interval": _interval(rank.scratch_states),
        **_printed("load_begin_avail_gib", rank.load_begin),
        **_printed("avail_after_weights_gib", rank.after_weights),
        "weights_gib": load.used.value if load and load.used else None,
        "model_class": load.model_class if load else None,
        "init_mem_usage_gib": rank.baseline.value if rank.baseline else None,
        **_printed("pool_end_avail_gib", rank.pool_ends[-1] if rank.pool_ends else None),
        "graphs": [_graph(graph) for graph in rank.graphs],
        "ring_gib": round(sum(size.value for size in rank.rings.sizes), GIB_DECIMALS) if rank.rings else None,
        "rest_gib_interval": _gib(rank.rest_bytes),
        "implied_mem_fraction_interval": _interval(rank.implied_static_fraction),
        "unexplained_gib_interval": _gib(rank.unexplained_bytes),
        "available_gpu_mem_gib": summary.available.value if summary and summary.available else None,
        "max_total_num_tokens": summary.kv_tokens if summary else None,
        "max_running_requests": summary.max_running_requests if summary else None,
        "context_len": summary.context_len if summary else None,
        "chunked_prefill_size": summary.chunked_prefill_size if summary else None,
        "max_prefill_tokens": summary.max_prefill_tokens if summary else None,
        "batches": [_batch(batch) for batch in rank.batches],
    }
    document.update(_host_pools(rank))
    return document


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
        "kv_pool_tokens_interval": _interval(runtime.kv_pool_tokens),
        "state_pool_slots_interval": _interval(runtime.state_pool_slots),
        "binding": runtime.binding,
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding; the price is null with a reason where nothing could be worked out."""
    price = finding.price
    return {
        "id": finding.id,
        "severity": finding.severity,
        "text": finding.text,
        "evidence": list(finding.evidence),
        "flags": list(finding.flags),
        "price": price
        and {
            "delta_requests": price.delta_requests,
            "delta_kv_tokens": price.delta_kv_tokens,
            "source": price.source,
        },
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
        "figures": [
            {name: getattr(figure, name) for name in type(figure).__dataclass_fields__} for figure in prediction.figures
        ],
    }


def _match(match: CatalogMatch) -> dict[str, Any]:
    return {name: getattr(match, name) for name in type(match).__dataclass_fields__}


def _step(step: Step) -> dict[str, Any]:
    return {"name": step.name, "value": step.value, "unit": step.unit, "source": step.source}


def _other_pools(boot: BootReport) -> Iterator[tuple[str, Any]]:
    if boot.unified is not None:
        yield "unified", {name: getattr(boot.unified, name) for name in type(boot.unified).__dataclass_fields__}
    if boot.elastic is not None:
        pool = boot.elastic
        padded, raw = pool.padded_bytes_per_layer_slot, pool.raw_bytes_per_layer_slot
        fields = {name: getattr(pool, name) for name in type(pool).__dataclass_fields__}
        yield "elastic", {**fields, "padding_factor": round(padded / raw, GIB_DECIMALS) if padded and raw else None}
    if boot.foreign is not None:
        yield "other_engine", {"engine": boot.foreign.engine, **boot.foreign.figures}
    if boot.kv_reduction is not None:
        yield (
            "kv_reduction",
            {"requested": boot.kv_reduction.requested, "granted": boot.kv_reduction.granted},
        )


def _host_pools(rank: RankReport) -> Iterator[tuple[str, Any]]:
    kv, state = rank.host_kv, rank.host_state
    row = None
    if kv and kv.size and kv.tokens:
        row = [kv.size.low_bytes / kv.tokens, kv.size.high_bytes / kv.tokens]
    yield (
        "host_kv",
        kv
        and {
            "tokens": kv.tokens,
            "gb_decimal": kv.size.value if kv.size else None,
            "bytes_per_token_interval": row,
        },
    )
    yield (
        "host_state",
        state
        and {
            "slots": state.slots,
            "gb_decimal": state.size.value if state.size else None,
            "layout": state.layout,
        },
    )
    sizes = [pool.size.value for pool in (kv, state) if pool and pool.size]
    yield "host_total_gb_decimal", round(sum(sizes), GIB_DECIMALS) if sizes else None
    if rank.window is not None:
        yield "full_tokens", rank.window.full_tokens
        yield "swa_tokens", rank.window.window_tokens
    if rank.checkpoints is not None:
        checkpoints = rank.checkpoints
        size = checkpoints.size.value if checkpoints.size else None
        yield "int8_checkpoints", {"slots": checkpoints.slots, "gib": size, "active_slots": checkpoints.active_slots}


def _printed(name: str, size: PrintedSize | None) -> dict[str, Any]:
    if size is None:
        return {name: None}
    low, high = size.low_bytes / size.unit_bytes, size.high_bytes / size.unit_bytes
    return {name: size.value, f"{name}_interval": [round(low, GIB_DECIMALS), round(high, GIB_DECIMALS)]}


def _worked_out(name: str, interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {name: None}
    bounds = [math.floor(interval.low), math.ceil(interval.high)]
    return {name: round(interval.middle), f"{name}_interval": bounds}


def _interval(interval: Interval | None) -> list[float] | None:
    return [interval.low, interval.high] if interval else None


def _gib(interval: Interval | None) -> list[float] | None:
    return [round(interval.low / 2**30, GIB_DECIMALS), round(interval.high / 2**30, GIB_DECIMALS)] if interval else None


def _kv_pool(pool: KvPool) -> dict[str, Any]:
    sizes = {"k_gib": pool.k, "v_gib": pool.v, "kv_gib": pool.kv}
    return {
        "kv_tokens": pool.tokens,
        "kv_dtype": pool.dtype,
        **{name: size.value if size else None for name, size in sizes.items()},
    }


def _graph(graph: GraphCapture) -> dict[str, Any]:
    return {
        "what": graph.what,
        "usage_gib": graph.used.value if graph.used else None,
        "avail_gib": graph.available.value if graph.available else None,
    }


def _batch(batch: Batch) -> dict[str, Any]:
    return {name: getattr(batch, name) for name in type(batch).__dataclass_fields__}


def _error(error: EngineError) -> dict[str, Any]:
    return {"id": error.id, "figures": dict(error.figures), "text": error.text, "fatal": error.fatal}


def _peak_mean(figure: PeakMean | None) -> dict[str, float] | None:
    return {"peak": figure.peak, "mean": figure.mean} if figure else None


def _plain(value: object) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return flags_document({str(name): item for name, item in value.items()})
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
