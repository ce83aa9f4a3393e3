"""What the engine allocates on one rank beside what its solver reserves: the bytes that come out of the slack.

Source: sizes of the real state pool, built without a card; held by `test_headroom`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from poolsplit.engines.engine import Buffer
from poolsplit.engines.sglang.slots import own_draft_state_layers
from poolsplit.shapes.model_shape import GatedDeltaNet, KimiDelta
from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.resolved_pools import ResolvedPools, StagePools, StateGeometry
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_FLOAT32_BYTES = 4
_DEDUPLICATED = frozenset({"gdn", "mamba2", "short_conv"})
"""Families whose verify windows overlap, so that each draft adds one column instead of a window."""
_INT8_SLOTS_PER_SLOT = 2
_MOST_REQUESTS_WITH_EXTRA = 32


def buffers_beside(
    shape: ModelShape, flags: Flags, resolved: ResolvedFlags, pools: ResolvedPools, switches: Switches
) -> tuple[Buffer, ...]:
    """Every buffer whose allocation differs from its reservation, on a rank of the stage with most state layers."""
    if pools.state is None or pools.stages[0].state is None:
        return ()
    stage = max(pools.stages, key=lambda each: each.state_layers or 0)
    found = (
        *_verify_windows(shape, resolved, pools, stage),
        *_decode_ring(shape, resolved, pools, stage),
        *_int8_pool(flags, resolved, pools, stage),
        *_decode_server(resolved, pools, stage),
        *_own_draft_states(shape, resolved, switches, stage),
        *_own_draft(shape, resolved, pools, stage),
        *_padding_page(resolved, stage),
    )
    return tuple(buffer for buffer in found if buffer.bytes != buffer.reserved_bytes)


def conv_bytes_per_layer(geometry: StateGeometry) -> int:
    """Convolution windows of one slot and one layer."""
    return sum(prod(window) for window in geometry.conv_shapes) * _BYTES[geometry.conv_dtype]


def _verify_windows(
    shape: ModelShape, resolved: ResolvedFlags, pools: ResolvedPools, stage: StagePools
) -> Iterator[Buffer]:
    """Windows of drafted tokens: reserved as whole states, allocated overlapping; under replay not reserved at all."""
    geometry, state, drafts = pools.state, stage.state, pools.draft_states
    if not drafts or geometry is None or state is None or resolved.disaggregation_mode == "prefill":
        return
    requests = stage.max_running_requests + 1
    dense = conv_bytes_per_layer(geometry) * drafts
    needed = _deduplicated(shape, resolved, geometry, drafts)
    layers = stage.state_layers or 0
    yield Buffer(
        name="verify_windows",
        bytes=requests * needed * layers,
        reserved_bytes=requests * dense * layers if state.verify_bytes else 0,
        note="convolution windows of drafted tokens",
    )


def _deduplicated(shape: ModelShape, resolved: ResolvedFlags, geometry: StateGeometry, drafts: int) -> int:
    """Window bytes of one verified request and one layer."""
    plain = conv_bytes_per_layer(geometry) * drafts
    if shape.state is None or shape.state.kind not in _DEDUPLICATED or (resolved.speculative_eagle_topk or 1) > 1:
        return plain
    columns = sum(window[0] * (drafts + window[1] - 1) for window in geometry.conv_shapes if prod(window))
    return columns * _BYTES[geometry.conv_dtype]


def _decode_ring(
    shape: ModelShape, resolved: ResolvedFlags, pools: ResolvedPools, stage: StagePools
) -> Iterator[Buffer]:
    """Rings of replayed decoding, one a slot: never reserved."""
    layer, geometry = shape.state, pools.state
    if not resolved.enable_linear_replayssm or geometry is None or not isinstance(layer, GatedDeltaNet | KimiDelta):
        return
    heads, value_dim, key_dim = geometry.temporal_shape
    total_heads = layer.value_heads if isinstance(layer, GatedDeltaNet) else layer.heads
    key_heads = ceil_div(layer.key_heads, max(1, total_heads // heads)) if isinstance(layer, GatedDeltaNet) else heads
    length = resolved.linear_replayssm_cache_len
    rows = (heads * value_dim + key_heads * key_dim) * length * _BYTES[geometry.state_dtype]
    gates = heads * length * _FLOAT32_BYTES * (key_dim if isinstance(layer, KimiDelta) else 1)
    slots = (pools.state_slots or 0) + 1
    yield Buffer(
        name="decode_rings",
        bytes=slots * (rows + gates) * (stage.state_layers or 0),
        reserved_bytes=0,
        note="--enable-linear-replayssm keeps a ring for every slot",
    )


def _int8_pool(flags: Flags, resolved: ResolvedFlags, pools: ResolvedPools, stage: StagePools) -> Iterator[Buffer]:
    """A second pool for cached states in eight bits: never reserved."""
    geometry = pools.state
    if not resolved.enable_int8_mamba_checkpoint or geometry is None:
        return
    heads, value_dim, key_dim = geometry.temporal_shape
    scale = heads * key_dim * _BYTES[geometry.state_dtype]
    per_layer = heads * value_dim * key_dim + scale + conv_bytes_per_layer(geometry)
    slots = flags.int8_mamba_ckpt_size or _INT8_SLOTS_PER_SLOT * (pools.state_slots or 0)
    yield Buffer(
        name="int8_checkpoints",
        bytes=(slots + 1) * per_layer * (stage.state_layers or 0),
        reserved_bytes=0,
        note=f"--enable-int8-mamba-checkpoint: {slots:,} slots",
    )


def _decode_server(resolved: ResolvedFlags, pools: ResolvedPools, stage: StagePools) -> Iterator[Buffer]:
    """A decode server's pool grows until its requests and the pre-allocated ones have their slots."""
    state, geometry = stage.state, pools.state
    if resolved.disaggregation_mode != "decode" or state is None or geometry is None:
        return
    asked = max(1, (resolved.max_running_requests or 0) // resolved.attn_dp_size)
    extra = 2 * asked if resolved.max_running_requests and asked <= _MOST_REQUESTS_WITH_EXTRA else 0
    tracking = 0
    if resolved.enable_mamba_extra_buffer:
        tracking = 1 if resolved.enable_mamba_extra_buffer_lazy or resolved.disable_overlap_schedule else 2
    slots = pools.state_slots or 0
    needed = max(slots, (stage.max_running_requests + extra) * (1 + tracking))
    share = geometry.charged_bytes_per_slot
    yield Buffer(
        name="decode_server_slots",
        bytes=(needed + 1) * share,
        reserved_bytes=(slots + 1) * share,
        note=f"{needed:,} slots for running and pre-allocated requests",
    )
    if state.verify_bytes and extra:
        each = share * pools.draft_states
        requests = stage.max_running_requests
        yield Buffer(
            name="decode_server_verify",
            bytes=(requests + extra + 1) * each,
            reserved_bytes=(requests + 1) * each,
            note="verify states of pre-allocated requests",
        )


def _own_draft_states(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, stage: StagePools
) -> Iterator[Buffer]:
    """States of the model's own draft layers: in the pool of some releases, charged by none."""
    layers = own_draft_state_layers(shape, resolved, switches)
    if not layers or stage.state is None or not stage.state_layers:
        return
    yield Buffer(
        name="own_draft_states",
        bytes=(stage.state.pool_bytes + stage.state.verify_bytes) * layers // stage.state_layers,
        reserved_bytes=0,
        note="the draft's layers are allocated among the states in this release",
    )


def _own_draft(shape: ModelShape, resolved: ResolvedFlags, pools: ResolvedPools, stage: StagePools) -> Iterator[Buffer]:
    """KV rows of the model's own draft layers, which a launch without a draft path does not price."""
    speculates = resolved.speculative_algorithm in {"EAGLE", "EAGLE3", "NEXTN"}
    layers = stage.kv_layers or 0
    if not speculates or resolved.eagle_draft_layers or not shape.draft_layers or not layers:
        return
    row = int(stage.kv_bytes_per_token / layers) * shape.draft_layers
    yield Buffer(
        name="own_draft_kv",
        bytes=(pools.kv_tokens + resolved.page_size) * row,
        reserved_bytes=0,
        note="name the model itself with --speculative-draft-model-path to have it priced",
    )


def _padding_page(resolved: ResolvedFlags, stage: StagePools) -> Iterator[Buffer]:
    page = int(resolved.page_size * stage.kv_bytes_per_token)
    yield Buffer(name="padding_page", bytes=page, reserved_bytes=0, note="one page of KV rows beyond the last")
