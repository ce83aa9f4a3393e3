"""What the pools of one launch allocate: the sizes that the start-up log prints, rank by rank.

Reserved and allocated differ. The padding slot is there in every release, verification keeps fewer convolution
columns than are reserved, a decode server adds slots for requests in transfer, and some releases add a draft's layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.resolved_pools import KvSizes, RankFigures, StateSizes
from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.engines.sglang.shards import kv_head_width
from poolsplit.engines.sglang.slots import decode_tracking_slots, draft_states, own_draft_state_layers
from poolsplit.engines.sglang.solver.formats import kv_format
from poolsplit.engines.sglang.solver.geometry import state_format
from poolsplit.engines.sglang.solver.rings import replay_rings
from poolsplit.shapes.costs import (
    attention_row_bytes,
    kv_bytes_per_token,
    kv_heads_per_rank,
    own_index_layers,
    state_layer_bytes,
)
from poolsplit.shapes.model_shape import FullAttention, GatedDeltaNet, Mamba2

if TYPE_CHECKING:
    from poolsplit.engines.resolved_pools import ResolvedPools, StagePools
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.costs import KvFormat
    from poolsplit.shapes.model_shape import ModelShape, StateLayer

PADDING_ROWS = 1


def rank_figures(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, pools: ResolvedPools
) -> tuple[RankFigures, ...]:
    """Sizes of one rank of every stage.

    Known error: rows of a window pool are counted at the target's own layers; a private draft pool is not counted.

    Source: the pools as the engine builds them; published boot logs hold it.
    """
    shape = shape_in_release(shape, switches)
    return tuple(
        RankFigures(
            stage=number,
            state=_state_sizes(shape, resolved, switches, stage),
            kv=_kv_sizes(shape, resolved, switches, stage),
        )
        for number, stage in enumerate(pools.stages)
    )


def state_pool_rows(resolved: ResolvedFlags, stage: StagePools) -> int:
    """Rows of a stage's state pool: its slots, the padding slot, and what a decode server adds for transfers."""
    slots = stage.state.state_slots if stage.state is not None else 0
    if resolved.disaggregation_mode == "decode":
        requests = stage.max_running_requests + resolved.decode_extra_slots
        slots = max(slots, requests * (1 + decode_tracking_slots(resolved)))
    return slots + PADDING_ROWS


def verify_columns(layer: StateLayer, resolved: ResolvedFlags, kernel: int) -> int | None:
    """Convolution columns that verification keeps per request; None where it keeps a whole window a draft token."""
    deduplicates = isinstance(layer, GatedDeltaNet | Mamba2) and (resolved.speculative_eagle_topk or 1) <= 1
    return draft_states(resolved) + kernel - 2 if deduplicates else None


def _state_sizes(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, stage: StagePools
) -> StateSizes | None:
    if shape.state is None or stage.state is None:
        return None
    state = state_format(shape, resolved)
    layers = (stage.state_layers or 0) + own_draft_state_layers(shape, resolved, switches)
    conv, recurrent = (size * layers for size in state_layer_bytes(shape.state, state))
    rows = state_pool_rows(resolved, stage)
    scale = layers / max(len(shape.state_layer_ids), 1)
    rings = replay_rings(shape, resolved, switches, state, scale)
    requests = stage.max_running_requests + resolved.decode_extra_slots + PADDING_ROWS
    ring_rows = rows if rings.per_slot else requests
    verifies = draft_states(resolved) > 0 and _verifies_here(resolved, switches)
    return StateSizes(
        rows=rows,
        conv_bytes=rows * conv,
        recurrent_bytes=rows * recurrent,
        verify_recurrent_bytes=_scratch(requests, recurrent, resolved) if verifies and not rings.active else None,
        verify_conv_bytes=_conv_scratch(shape.state, requests, conv, resolved) if verifies else None,
        ring_bytes=rings.ring_bytes * ring_rows if rings.active else None,
    )


def _verifies_here(resolved: ResolvedFlags, switches: Switches) -> bool:
    skips = switches.prefill_skips_verify_scratch and resolved.disaggregation_mode == "prefill"
    return not skips or resolved.enable_pd_role_switch or resolved.enable_unified_memory


def _scratch(requests: int, row_bytes: int, resolved: ResolvedFlags) -> int:
    return requests * draft_states(resolved) * row_bytes


def _conv_scratch(layer: StateLayer, requests: int, row_bytes: int, resolved: ResolvedFlags) -> int:
    kernel = layer.conv_kernel if isinstance(layer, GatedDeltaNet | Mamba2) else 0
    columns = verify_columns(layer, resolved, kernel)
    if columns is None:
        return _scratch(requests, row_bytes, resolved)
    return requests * columns * (row_bytes // (kernel - 1))


def _kv_sizes(shape: ModelShape, resolved: ResolvedFlags, switches: Switches, stage: StagePools) -> KvSizes:
    kv = kv_format(resolved, switches)
    rows = stage.kv_tokens + resolved.page_size
    # Beside a window pool the heads stay as wide as without decode context parallelism, as in the sizers.
    width = kv_head_width(resolved, switches) if shape.window is None else resolved.attn_tp_size
    layer_ids = tuple(layer for layer in shape.kv_layer_ids if stage.start_layer <= layer < stage.end_layer)
    layers, indexed = len(layer_ids), own_index_layers(shape, layer_ids)
    kv_bytes = rows * kv_bytes_per_token(shape, kv, head_width=width, layers=layers, indexed_layers=indexed)
    if shape.window is not None:
        kv_bytes += _window_bytes(shape, resolved, kv, stage)
        return KvSizes(rows=rows, k_bytes=None, v_bytes=None, kv_bytes=kv_bytes)
    attention = shape.attention
    if not isinstance(attention, FullAttention) or kv.packing != "plain" or attention.index is not None:
        return KvSizes(rows=rows, k_bytes=None, v_bytes=None, kv_bytes=kv_bytes)
    row = rows * kv_heads_per_rank(attention.kv_heads, width) * layers * kv.element_bytes
    return KvSizes(rows=rows, k_bytes=row * attention.head_dim, v_bytes=row * attention.v_head_dim, kv_bytes=kv_bytes)


def _window_bytes(shape: ModelShape, resolved: ResolvedFlags, kv: KvFormat, stage: StagePools) -> int:
    window = shape.window
    if window is None or stage.window_tokens is None:
        return 0
    heads = FullAttention(kv_heads=window.kv_heads, head_dim=window.head_dim, v_head_dim=window.v_head_dim)
    layers = sum(stage.start_layer <= layer < stage.end_layer for layer in window.layer_ids)
    row = attention_row_bytes(heads, kv, head_width=resolved.attn_tp_size)
    return (stage.window_tokens + resolved.page_size) * row * layers
