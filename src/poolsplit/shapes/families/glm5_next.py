"""GLM-5.3-Flash: delta rule with one gate a channel, and sparse latent attention with pooled index keys.

Layer lists count from 0 here. The pool of the index keys is `index_kpool`; without the key, one token a key.

Source: the engine's config class; the pooling of 4 follows from a published boot (5,995 bytes a token with fp8 KV).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import (
    Decoder,
    LayerSplit,
    layer_count,
    split_by_interval,
    split_by_kv,
    split_by_list,
)
from poolsplit.shapes.families.keys import ConfigKeys
from poolsplit.shapes.families.kimi_linear import kimi_delta
from poolsplit.shapes.model_shape import KimiDelta, LatentAttention, SparseIndex, VisionTower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role

_ROLES: Mapping[object, Role] = {
    "linear_attention": "state",
    "full_attention": "kv",
    "attention": "kv",
    "indexed_attention": "kv",
}
_GLM_TOWER = VisionTower(layers=None, hidden_size=1024)


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys; those of the outer level hold where the text level has none."""
    keys = ConfigKeys({**outer.values, **text.values}, where=text.where, path=text.path)
    linear = keys.nested("linear_attn_config")
    split = _split(keys, linear)
    tower = vision_tower(outer, default=_GLM_TOWER) if outer.has("vision_config") else None
    return Decoder(
        family="glm5_next",
        architecture="Glm5NextForConditionalGeneration",
        layers=split.layers,
        state=_delta(keys) if linear is None else kimi_delta(linear),
        state_layer_ids=split.state,
        attention=_attention(keys, split.layers),
        kv_layer_ids=split.kv,
        num_nextn_predict_layers=keys.integer("num_nextn_predict_layers", default=1, minimum=0),
        context_len_default=1_013_760,
        vision=tower,
        multimodal=outer.values.get("model_type") == "glm5_next",
    )


def _split(keys: ConfigKeys, linear: ConfigKeys | None) -> LayerSplit:
    layers = layer_count(keys)
    if linear is not None:
        state = linear.layer_numbers("kda_layers", layers=layers)
        if state is None:
            raise linear.missing("kda_layers")
        held = frozenset(state)
        return split_by_kv(layers, tuple(number for number in range(layers) if number not in held))
    return split_by_list(keys, "layer_types", _ROLES, layers=layers) or split_by_interval(layers, 4)


def _delta(keys: ConfigKeys) -> KimiDelta:
    return KimiDelta(
        heads=keys.integer("linear_num_heads", default=64),
        head_dim=keys.integer("linear_head_dim", default=128),
        conv_kernel=keys.integer("linear_conv_kernel_dim", default=4),
    )


def _attention(keys: ConfigKeys, layers: int) -> LatentAttention:
    index = None
    if keys.has("index_topk"):
        index = SparseIndex(
            head_dim=keys.integer("index_head_dim"),
            tokens_per_key=keys.integer("index_kpool", default=1),
            shared_layer_ids=tuple(number for number in range(layers) if _shares_index(keys, number)),
        )
    return LatentAttention(
        kv_lora_rank=keys.integer("kv_lora_rank", default=512),
        qk_rope_head_dim=keys.integer("qk_rope_head_dim", default=0, minimum=0),
        index=index,
    )


def _shares_index(keys: ConfigKeys, layer: int) -> bool:
    """Whether a layer takes the choice of the layer before it and keeps no index keys."""
    pattern = keys.text("index_topk_pattern")
    if pattern is not None:
        return layer < len(pattern) and pattern[layer] == "S"
    every = keys.integer("index_topk_freq", default=1)
    offset = keys.optional_integer("index_skip_topk_offset", minimum=1)
    return max(layer - (1 if offset is None else offset - 1), 0) % every != 0
