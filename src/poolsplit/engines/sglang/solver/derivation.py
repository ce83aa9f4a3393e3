"""How the pools of one launch were found: every step with its value, its unit and the rule that set it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.derivation import Step
from poolsplit.engines.sglang.slots import draft_states
from poolsplit.engines.sglang.solver.requests import request_limit
from poolsplit.engines.sglang.solver.state_pool import requests_per_worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import ResolvedPools, StagePools
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches

_ARMS = {
    "pinned": "--max-mamba-cache-size over the data-parallel workers; the ratio is not read",
    "from_requests": "--disable-radix-cache and known requests: one slot a request; the ratio is not read",
    "auto_verify": "the ratio's share, each slot at its price with draft states, one padding slot and request first",
    "auto": "the ratio's share over the price of a slot, one padding slot first",
}


def derive(resolved: ResolvedFlags, memory: FreeMemory, switches: Switches, pools: ResolvedPools) -> tuple[Step, ...]:
    """The steps from free memory to running requests, of the first stage where stages differ."""
    first = pools.stages[0]
    return (
        *_rest_steps(resolved, memory, first),
        *_state_steps(resolved, switches, pools),
        *_kv_steps(resolved, pools),
        *_request_steps(resolved, switches, pools),
    )


def _rest_steps(resolved: ResolvedFlags, memory: FreeMemory, first: StagePools) -> Iterator[Step]:
    fraction = resolved.mem_fraction_static
    yield Step(name="free_before", value=memory.before_gib, unit="GiB", source="given: before the weights")
    yield Step(
        name="free_after",
        value=memory.per_stage_gib(resolved.pp_size)[0],
        unit="GiB",
        source="given: after the weights, the least over all ranks" if memory.shared_minimum else "given",
    )
    yield Step(
        name="slack",
        value=memory.before_gib * (1 - fraction),
        unit="GiB",
        source="free before the weights x (1 - fraction)",
    )
    if resolved.mm_reservation_gib:
        yield Step(
            name="multimodal_reserve",
            value=resolved.mm_reservation_gib,
            unit="GiB",
            source="kept back for a model that takes images",
        )
    yield Step(name="rest", value=first.rest_gib, unit="GiB", source="free after - slack - reserve: both pools")


def _state_steps(resolved: ResolvedFlags, switches: Switches, pools: ResolvedPools) -> Iterator[Step]:
    geometry, pool = pools.state, pools.stages[0].state
    if geometry is None or pool is None:
        return
    yield Step(
        name="state_bytes_per_slot",
        value=geometry.bytes_per_slot,
        unit="bytes",
        source=f"{geometry.layers} state layers, one rank: windows {_shapes(geometry.conv_shapes)} in "
        f"{geometry.conv_dtype}, state {geometry.temporal_shape} in {geometry.state_dtype}",
    )
    if geometry.charged_bytes_per_slot != geometry.bytes_per_slot:
        yield Step(
            name="state_bytes_per_slot_charged",
            value=geometry.charged_bytes_per_slot,
            unit="bytes",
            source="the stage with most state layers, the same on every rank",
        )
    yield Step(name="slots_per_request", value=pools.slots_per_request, unit="slots", source=_slots_rule(resolved))
    if draft_states(resolved):
        yield Step(
            name="draft_states",
            value=draft_states(resolved),
            unit="states",
            source=f"draft tokens of {resolved.speculative_algorithm}",
        )
    if pool.budget_bytes is not None:
        yield Step(
            name="state_to_kv_ratio",
            value=resolved.mamba_full_memory_ratio,
            unit="ratio",
            source=f"--mamba-full-memory-ratio ({resolved.mamba_full_memory_ratio_source})",
        )
        yield Step(name="state_budget", value=pool.budget_bytes, unit="bytes", source="rest x ratio / (1 + ratio)")
    yield Step(name="state_slots", value=pool.state_slots, unit="slots", source=_ARMS[pool.arm])
    if pool.verify_bytes:
        yield Step(
            name="verify_scratch", value=pool.verify_bytes, unit="bytes", source="draft states of the running requests"
        )
    padded = "slots and one padding slot" if switches.padding_slot else "slots"
    yield Step(name="state_pool", value=pool.pool_bytes, unit="bytes", source=f"{padded}, and what rides on them")


def _kv_steps(resolved: ResolvedFlags, pools: ResolvedPools) -> Iterator[Step]:
    first = pools.stages[0]
    yield Step(
        name="kv_budget", value=first.kv_budget_bytes, unit="bytes", source="what the state pool and its scratch leave"
    )
    for number, stage in enumerate(pools.stages):
        yield Step(
            name="kv_bytes_per_token" if len(pools.stages) == 1 else f"kv_bytes_per_token[{number}]",
            value=stage.kv_bytes_per_token,
            unit="bytes",
            source=f"{_layer_count(stage)} in {pools.kv_dtype}, one rank{_draft_note(resolved)}",
        )
    yield Step(name="kv_tokens", value=pools.kv_tokens, unit="tokens", source=_tokens_rule(resolved, pools))
    if pools.window_tokens is not None:
        yield Step(name="window_tokens", value=pools.window_tokens, unit="tokens", source="the window pool's rows")
    if pools.logical_tokens != pools.kv_tokens:
        yield Step(
            name="logical_tokens",
            value=pools.logical_tokens,
            unit="tokens",
            source=f"rows x {resolved.dcp_size} ranks of decode context parallelism",
        )


def _request_steps(resolved: ResolvedFlags, switches: Switches, pools: ResolvedPools) -> Iterator[Step]:
    asked = requests_per_worker(resolved, switches)
    limit = request_limit(pools.kv_tokens, resolved, switches)
    source = "--max-running-requests of one worker" if asked is not None else "estimate from KV rows and context"
    yield Step(name="request_limit", value=limit, unit="requests", source=source)
    if pools.state is not None and pools.state_slots is not None and pools.slots_per_request is not None:
        yield Step(
            name="state_requests",
            value=pools.state_slots // pools.slots_per_request,
            unit="requests",
            source="state slots // slots per request",
        )
    yield Step(
        name="max_running_requests",
        value=pools.max_running_requests,
        unit="requests",
        source=_grant_rule(limit, pools),
    )
    if resolved.pp_size > 1:
        yield Step(
            name="pp_max_micro_batch_size",
            value=pools.pp_max_micro_batch_size,
            unit="requests",
            source=f"requests // {resolved.pp_size} stages",
        )


def _grant_rule(limit: int, pools: ResolvedPools) -> str:
    granted = pools.max_running_requests
    by_state = None
    if pools.state is not None and pools.state_slots is not None and pools.slots_per_request is not None:
        by_state = pools.state_slots // pools.slots_per_request
    if by_state is not None and by_state == granted and by_state < limit:
        return "capped by the state pool"
    return "the request limit" if granted == limit else "capped by KV rows: two a request"


def _tokens_rule(resolved: ResolvedFlags, pools: ResolvedPools) -> str:
    if resolved.max_total_tokens is not None and pools.kv_tokens >= resolved.max_total_tokens - resolved.page_size + 1:
        return "--max-total-tokens, whole pages"
    if len(pools.stages) > 1:
        return "the least over all stages, whole pages"
    return "budget // bytes per token, whole pages"


def _slots_rule(resolved: ResolvedFlags) -> str:
    if resolved.disable_radix_cache:
        return "no radix cache"
    overlap = "without overlap" if resolved.disable_overlap_schedule else "with overlap"
    unlocked = ", state not locked while decoding" if resolved.skip_decode_lock else ""
    return f"{resolved.mamba_radix_cache_strategy} strategy {overlap}{unlocked}"


def _layer_count(stage: StagePools) -> str:
    if stage.kv_layers is None:
        return f"layers {stage.start_layer} to {stage.end_layer - 1}"
    return f"{stage.kv_layers} attention layers"


def _draft_note(resolved: ResolvedFlags) -> str:
    layers = resolved.eagle_draft_layers or resolved.dflash_draft_layers
    return f", and {layers} draft layers" if layers else ""


def _shapes(shapes: tuple[tuple[int, ...], ...]) -> str:
    return " ".join(str(shape) for shape in shapes)
