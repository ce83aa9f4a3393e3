"""The layers of one model, unsharded: what a config says, and nothing that an engine decides.

A `ModelShape` is read by `families` from a `config.json`; `costs` turns it into bytes with the shard widths that an
engine gives. A layer kind that is not listed here does not exist for us: reading one is an error, never a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Provenance = Literal["exact", "published", "derived"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet:
    """Gated delta-rule layers (Qwen3-Next and its line)."""

    kind: Literal["gdn"] = "gdn"
    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDelta:
    """Delta-rule layers with one gate per channel (Kimi and its line)."""

    kind: Literal["kda"] = "kda"
    heads: int
    head_dim: int
    conv_kernel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """Selective state-space layers of the second form."""

    kind: Literal["mamba2"] = "mamba2"
    heads: int
    head_dim: int
    state_size: int
    groups: int
    inner_width: int
    conv_kernel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba1:
    """Selective state-space layers of the first form."""

    kind: Literal["mamba1"] = "mamba1"
    inner_width: int
    state_size: int
    conv_kernel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lightning:
    """Linear attention with a fixed decay: a recurrent state, no convolution."""

    kind: Literal["lightning"] = "lightning"
    heads: int
    head_dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConv:
    """Gated short convolutions: a window, no recurrent state."""

    kind: Literal["short_conv"] = "short_conv"
    channels: int
    conv_kernel: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedConv:
    """Convolutions over compressed queries and keys beside attention (ZAYA)."""

    kind: Literal["cca"] = "cca"
    channels: int
    window: int
    hidden_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SideConv:
    """Short convolutions beside both kinds of attention on every layer (Inkling)."""

    kind: Literal["sconv"] = "sconv"
    conv_kernel: int
    kv_heads: int
    head_dim: int
    window_kv_heads: int
    window_head_dim: int
    hidden_size: int


StateLayer = GatedDeltaNet | KimiDelta | Mamba1 | Mamba2 | Lightning | ShortConv | CompressedConv | SideConv


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseIndex:
    """The index keys that a sparse attention keeps beside its rows."""

    head_dim: int
    """Elements of one key, all its heads together."""
    tokens_per_key: int
    """Tokens that one stored key stands for (pooling or compression)."""
    shared_layer_ids: tuple[int, ...] = ()
    """Layers that reuse the choice of the layer before them and keep no keys of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttention:
    """Attention that keeps a key and a value head per token (MHA, GQA)."""

    kv_heads: int
    head_dim: int
    v_head_dim: int
    index: SparseIndex | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """Attention that keeps one latent row per token (MLA); it does not shrink with tensor parallelism."""

    kv_lora_rank: int
    qk_rope_head_dim: int
    index: SparseIndex | None = None
    heads: int = 0
    """KV heads that the config names; no bytes follow from them, on one vendor's cards the kernel does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAttention:
    """Sliding-window layers that get a pool of their own."""

    layer_ids: tuple[int, ...]
    window_tokens: int
    kv_heads: int
    head_dim: int
    v_head_dim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTower:
    """What the engine reads of a vision tower to set its default memory fraction."""

    layers: int | None
    hidden_size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """One model as its config describes it: unsharded, without any launch flag."""

    name: str
    """Catalog or hub id, or the path it was read from."""
    architecture: str
    """First entry of `architectures`; the engine's rules go by it."""
    model_type: str
    """Outer `model_type` of the config."""
    family: str
    """Name of the reader in `families`."""
    layers: int
    """Decoder layers, numbered from 0."""
    state: StateLayer | None
    """The recurrent layers; None for a model without any."""
    state_layer_ids: tuple[int, ...]
    attention: FullAttention | LatentAttention | None
    """The full-attention layers; None for a model without any."""
    kv_layer_ids: tuple[int, ...]
    """Layers that keep one KV row per token for the whole context."""
    window: WindowAttention | None = None
    context_len: int | None
    """Longest context the config allows; None when it says nothing."""
    dtype: str
    """Dtype of weights and activations: bfloat16, float16, float32 (also when the config names none)."""
    state_dtype: str | None = None
    """Dtype of the recurrent state that the config names under `mamba_ssm_dtype`, for families where that is read."""
    state_dtype_unread: str | None = None
    """The same under a key, or in a family, where it is not read: to be shown, never to be used."""
    state_chunk_tokens: int | None = None
    """Chunk of the recurrent kernel named by the config; checkpoints sit on its multiples."""
    draft_layers: int = 0
    """Multi-token-prediction layers that the checkpoint carries, under whatever key the config names them, if any."""
    num_nextn_predict_layers: int | None = None
    """The config's own key of that name, class default included; None in families without it (Qwen3-Next and on)."""
    vision: VisionTower | None = None
    """The vision tower as its config class presents it; None without one."""
    multimodal: bool = False
    """Whether the architecture takes images or sound, served or not."""
    kv_quant_dtype: str | None = None
    """KV dtype that the checkpoint's quantisation config declares: fp8_e4m3, nvfp4; None when it says nothing."""
    provenance: Provenance = "exact"
    source: str = ""
    """Where the config comes from."""
    caution: str = ""
    """What every answer that uses this shape must say; empty when there is nothing to say."""
    extra: tuple[tuple[str, int | str | bool], ...] = field(default=())
    """Facts of one family that only the engine's rules read, by the config's own key."""

    @property
    def is_latent(self) -> bool:
        """Whether the KV rows are latent (MLA)."""
        return isinstance(self.attention, LatentAttention)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftShape:
    """A draft checkpoint as its own config describes it: what may be priced beside the target's KV rows."""

    name: str
    architecture: str
    model_type: str
    layers: int
    """Decoder layers of the draft's config; those of a whole model when the target itself is named as its draft."""
    attention: FullAttention | LatentAttention | None
    kv_layers: int
    """Layers that keep KV rows."""
    dtype: str
    context_len: int | None
    num_nextn_predict_layers: int | None = None
    block_size: int | None = None
    """Tokens of one drafted block (DFLASH); DSPARK reads its gamma from the same key."""
    gamma: int | None = None
    """Drafted tokens a step of DSPARK: `dspark_block_size`, else the block size."""
