"""Qwen4-Exp: the Qwen3-Next layers, with a sparse index beside the attention and its own list of layers.

Source: the engine's config class.
Known error: the small side pools of the n-gram embedding layers (short windows a request) are not part of a slot here,
because the engine does not price them either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import (
    Decoder,
    LayerSplit,
    grouped_attention,
    layer_count,
    split_by_interval,
    split_by_list,
)
from poolsplit.shapes.families.qwen3_next import CONTEXT_LEN_DEFAULT, ROLES, gated_delta
from poolsplit.shapes.model_shape import FullAttention, SparseIndex, VisionTower

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES = {**ROLES, "qwen_sparse_attention": "kv", "indexed_attention": "kv"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = _split(text)
    wrapped = text is not outer
    return Decoder(
        family="qwen4_exp",
        architecture="Qwen4ExpForConditionalGeneration",
        layers=split.layers,
        state=gated_delta(text),
        state_layer_ids=split.state,
        attention=_attention(text),
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=CONTEXT_LEN_DEFAULT,
        vision=vision_tower(outer, default=VisionTower(layers=None, hidden_size=1152)),
        multimodal=wrapped,
    )


def _split(text: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    listed = split_by_list(text, "layer_types", _ROLES, layers=layers)
    return listed or split_by_interval(layers, text.integer("full_attention_interval"))


def _attention(text: ConfigKeys) -> FullAttention:
    plain = grouped_attention(text, head_dim=text.integer("head_dim", default=256))
    if not text.has("indexer_n_heads"):
        return plain
    return FullAttention(
        kv_heads=plain.kv_heads,
        head_dim=plain.head_dim,
        v_head_dim=plain.v_head_dim,
        index=SparseIndex(
            head_dim=text.integer("indexer_kv_heads") * text.integer("indexer_head_dim"),
            tokens_per_key=text.integer("indexer_compress_ratio", minimum=2),
        ),
    )
