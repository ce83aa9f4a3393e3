"""Bytes of one model: a state slot and a KV token on one rank, given the shard widths.

Everything here is exact integer arithmetic on a `ModelShape`. Which widths, element sizes and layouts an engine uses
is the engine's business; this module only multiplies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from poolsplit.errors import IndivisibleError
from poolsplit.shapes.model_shape import (
    CompressedConv,
    FullAttention,
    GatedDeltaNet,
    KimiDelta,
    LatentAttention,
    Lightning,
    Mamba1,
    Mamba2,
    ModelShape,
    ShortConv,
    SideConv,
    StateLayer,
)
from poolsplit.units import ceil_div

Shape = tuple[int, ...]
KvPacking = Literal["plain", "mxfp8", "nvfp4", "fp4_mx_block16", "fp4_legacy"]

_INDEX_BLOCK = 128
_INDEX_SCALE_BYTES = 4
_MXFP8_BLOCK = 32
_FP4_BLOCK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFormat:
    """How the recurrent state is stored: bytes of one element of each part, and the ranks that share it."""

    width: int
    """Ranks over which heads and channels are split."""
    hidden_width: int = 1
    """Ranks over which the hidden-size windows of side convolutions are split."""
    conv_element_bytes: int
    state_element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """How one row of attention KV is stored on one rank."""

    element_bytes: int
    packing: KvPacking = "plain"
    scale_layouts: int = 0
    """Copies of the block scales that are kept (FP4)."""
    workspace_element_bytes: int = 0
    """Element size of the shared buffer that rows are unpacked into; 0 without one (FP4)."""
    scaled_latent_rows: bool = False
    """Latent rows keep block scales and their rotary part in 2 bytes (sparse attention in FP8)."""
    index_copies: int = 1
    """Ranks that each keep the whole sparse index."""
    index_element_bytes: int = 2
    """Element size of the compressed index keys beside full attention."""


@lru_cache(maxsize=1024)
def conv_shapes(layer: StateLayer, state: StateFormat) -> tuple[Shape, ...]:
    """Convolution windows of one layer on one rank.

    Shapes: (channels, kernel - 1), or (kernel - 1, channels) for delta rules with a gate per channel and for side
    convolutions; (0, 0) for layers without a convolution.

    Raises:
        IndivisibleError: Channels or heads that do not divide by the width.

    Source: state shapes of the engine's own configs, held by the golden answers.
    """
    width = state.width
    match layer:
        case SideConv():
            return _side_windows(layer, state)
        case Lightning():
            return ((0, 0),)
        case KimiDelta():
            return ((layer.conv_kernel - 1, 3 * _split(layer.heads * layer.head_dim, width, "channels")),)
        case CompressedConv():
            return ((_split(layer.channels, width, "channels"), layer.window), (layer.hidden_size, 1))
        case _:
            return ((_split(_conv_channels(layer, width), width, "channels"), layer.conv_kernel - 1),)


@lru_cache(maxsize=1024)
def temporal_shape(layer: StateLayer, width: int) -> Shape:
    """Recurrent state of one layer on one rank; a zero in it means that there is none.

    Shapes: (heads, value dim, key dim).

    Raises:
        IndivisibleError: Heads that do not divide by the width.
    """
    match layer:
        case ShortConv():
            return (1, layer.channels, 0)
        case CompressedConv():
            return (1, 1, 0)
        case SideConv():
            return (0, 0, 0)
        case _:
            heads, rows, columns = _recurrent_shape(layer)
            return (_split(heads, width, "heads"), rows, columns)


@lru_cache(maxsize=1024)
def state_layer_bytes(layer: StateLayer, state: StateFormat) -> tuple[int, int]:
    """Bytes of the convolution windows and of the recurrent state of one layer, one slot, one rank."""
    windows = sum(math.prod(shape) for shape in conv_shapes(layer, state))
    recurrent = math.prod(temporal_shape(layer, state.width))
    return windows * state.conv_element_bytes, recurrent * state.state_element_bytes


def state_bytes_per_slot(shape: ModelShape, state: StateFormat, layers: int | None = None) -> int:
    """Bytes of one state slot on one rank over `layers` state layers (all of them by default); 0 without any."""
    if shape.state is None:
        return 0
    count = len(shape.state_layer_ids) if layers is None else layers
    return sum(state_layer_bytes(shape.state, state)) * count


def key_heads_per_rank(layer: GatedDeltaNet | KimiDelta, width: int) -> int:
    """Key heads of a delta-rule layer on one rank, rounded up where they do not divide."""
    return ceil_div(layer.key_heads if isinstance(layer, GatedDeltaNet) else layer.heads, width)


def kv_heads_per_rank(kv_heads: int, width: int) -> int:
    """KV heads on one rank; never below one, because ranks beyond the heads each keep a copy."""
    return max(1, kv_heads // width)


def kv_bytes_per_token(
    shape: ModelShape, kv: KvFormat, *, head_width: int, layers: int, indexed_layers: int | None = None
) -> int:
    """Bytes of one KV token on one rank over `layers` full-attention layers, without a draft model.

    Args:
        shape: The model.
        kv: How rows are stored.
        head_width: Ranks over which KV heads are split.
        layers: Full-attention layers on this rank's stage.
        indexed_layers: How many of them keep index keys of their own (`own_index_layers`); all of them by default.

    Source: row layouts of the engine's pools, held by the golden answers.
    """
    match shape.attention:
        case None:
            return 0
        case LatentAttention() as latent:
            indexed = layers if indexed_layers is None else indexed_layers
            return _latent_bytes(latent, kv, layers) + index_bytes_per_token(latent, kv, indexed)
        case FullAttention() as full:
            heads = kv_heads_per_rank(full.kv_heads, head_width)
            return _full_bytes(full, kv, heads, layers) + _compressed_index_bytes(full, kv, layers)


def own_index_layers(shape: ModelShape, layer_ids: tuple[int, ...]) -> int:
    """How many of the layers keep index keys of their own; layers that share another's choice keep none."""
    index = shape.attention.index if shape.attention is not None else None
    return len(layer_ids) if index is None else sum(layer not in index.shared_layer_ids for layer in layer_ids)


def attention_row_bytes(attention: FullAttention, kv: KvFormat, *, head_width: int) -> int:
    """Bytes of one token in one full-attention or window layer on one rank, scales included."""
    elements = kv_heads_per_rank(attention.kv_heads, head_width) * (attention.head_dim + attention.v_head_dim)
    scales = elements // _MXFP8_BLOCK if kv.packing == "mxfp8" else 0
    return elements * kv.element_bytes + scales


def index_bytes_per_token(latent: LatentAttention, kv: KvFormat, layers: int) -> int:
    """Bytes of the sparse attention's index keys for one token, copies included; 0 without an index."""
    if latent.index is None:
        return 0
    dim = latent.index.head_dim
    key_bytes = ceil_div(dim + dim // _INDEX_BLOCK * _INDEX_SCALE_BYTES, latent.index.tokens_per_key)
    return key_bytes * layers * kv.index_copies


def _latent_bytes(latent: LatentAttention, kv: KvFormat, layers: int) -> int:
    rank, rope = latent.kv_lora_rank, latent.qk_rope_head_dim
    elements = rank + rope
    if kv.scaled_latent_rows:
        elements = rank + rank // _INDEX_BLOCK * _INDEX_SCALE_BYTES + 2 * rope
    row_bytes = elements * layers * kv.element_bytes
    if kv.packing in {"nvfp4", "fp4_mx_block16", "fp4_legacy"}:
        return row_bytes // 2 + (rank + rope) // _FP4_BLOCK * layers * kv.element_bytes
    return row_bytes


def _full_bytes(full: FullAttention, kv: KvFormat, heads: int, layers: int) -> int:
    elements = heads * (full.head_dim + full.v_head_dim) * layers
    match kv.packing:
        case "plain":
            return elements * kv.element_bytes
        case "mxfp8":
            return elements * kv.element_bytes + elements // _MXFP8_BLOCK
        case "fp4_legacy":
            scales = heads * full.head_dim * layers * 2 // _FP4_BLOCK * kv.element_bytes
            return elements * kv.element_bytes // 2 + scales + _workspace_bytes(full, kv, heads)
        case "nvfp4":
            scales = heads * (full.head_dim // _FP4_BLOCK)
        case "fp4_mx_block16":
            scales = heads * full.head_dim // _FP4_BLOCK
    packed = heads * (full.head_dim // 2) + scales * kv.scale_layouts
    return packed * layers * 2 * kv.element_bytes + _workspace_bytes(full, kv, heads)


def _workspace_bytes(full: FullAttention, kv: KvFormat, heads: int) -> int:
    return heads * full.head_dim * 2 * kv.element_bytes * kv.workspace_element_bytes


def _compressed_index_bytes(full: FullAttention, kv: KvFormat, layers: int) -> int:
    if full.index is None:
        return 0
    return full.index.head_dim * kv.index_element_bytes // full.index.tokens_per_key * layers


def _conv_channels(layer: GatedDeltaNet | Mamba1 | Mamba2 | ShortConv, width: int) -> int:
    """Channels under one convolution over all ranks, copies of groups included."""
    match layer:
        case GatedDeltaNet():
            keys = _replicated(layer.key_heads, width) * layer.key_head_dim
            return layer.value_heads * layer.value_head_dim + 2 * keys
        case Mamba2():
            return layer.inner_width + 2 * _replicated(layer.groups, width) * layer.state_size
        case Mamba1():
            return layer.inner_width
        case ShortConv():
            return layer.channels


def _recurrent_shape(layer: GatedDeltaNet | KimiDelta | Lightning | Mamba1 | Mamba2) -> Shape:
    """Heads that are split over ranks, and the two widths of a head's state."""
    match layer:
        case GatedDeltaNet():
            return (layer.value_heads, layer.value_head_dim, layer.key_head_dim)
        case KimiDelta() | Lightning():
            return (layer.heads, layer.head_dim, layer.head_dim)
        case Mamba2():
            return (layer.heads, layer.head_dim, layer.state_size)
        case Mamba1():
            return (layer.inner_width, 1, layer.state_size)


def _side_windows(layer: SideConv, state: StateFormat) -> tuple[Shape, ...]:
    taps = layer.conv_kernel - 1
    full = kv_heads_per_rank(layer.kv_heads, state.width) * layer.head_dim
    window = kv_heads_per_rank(layer.window_kv_heads, state.width) * layer.window_head_dim
    hidden = _split(layer.hidden_size, state.hidden_width, "hidden channels")
    return tuple((taps, channels) for channels in (full, full, window, window, hidden, hidden))


def _replicated(groups: int, width: int) -> int:
    """Groups that are kept in total: their own number where it divides, one a rank where it does not."""
    return groups if groups % width == 0 else width


def _split(count: int, width: int, what: str) -> int:
    if count % width:
        raise IndivisibleError(count, what, width)
    return count // width
