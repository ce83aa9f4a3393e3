"""One rank of a log report as JSON: printed figures as printed, worked-out ones beside their interval."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_facts import GraphCapture, KvPool, PrintedSize
    from poolsplit.engines.boot_report import Interval, RankReport

GIB_DECIMALS = 4


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
        "target_kv_bytes_per_token_interval": interval_document(rank.row_bytes(0)),
        "draft_kv": [
            {**_kv_pool(pool), "kv_bytes_per_token_interval": interval_document(rank.row_bytes(number))}
            for number, pool in enumerate(rank.kv[1:], 1)
        ],
        "token_equiv_interval": interval_document(rank.token_equiv),
        "scratch_states_interval": interval_document(rank.scratch_states),
        **_printed("load_begin_avail_gib", rank.load_begin),
        **_printed("avail_after_weights_gib", rank.after_weights),
        "weights_gib": load.used.value if load and load.used else None,
        "model_class": load.model_class if load else None,
        "init_mem_usage_gib": rank.baseline.value if rank.baseline else None,
        **_printed("pool_end_avail_gib", rank.pool_ends[-1] if rank.pool_ends else None),
        "graphs": [_graph(graph) for graph in rank.graphs],
        "ring_gib": round(sum(size.value for size in rank.rings.sizes), GIB_DECIMALS) if rank.rings else None,
        "rest_gib_interval": _gib(rank.rest_bytes),
        "implied_mem_fraction_interval": interval_document(rank.implied_static_fraction),
        "unexplained_gib_interval": _gib(rank.unexplained_bytes),
        "available_gpu_mem_gib": summary.available.value if summary and summary.available else None,
        "max_total_num_tokens": summary.kv_tokens if summary else None,
        "max_running_requests": summary.max_running_requests if summary else None,
        "context_len": summary.context_len if summary else None,
        "chunked_prefill_size": summary.chunked_prefill_size if summary else None,
        "max_prefill_tokens": summary.max_prefill_tokens if summary else None,
        "batches": [asdict(batch) for batch in rank.batches],
    }
    document.update(_host_pools(rank))
    return document


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


def interval_document(interval: Interval | None) -> list[float] | None:
    """The two bounds; null where nothing is known."""
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
