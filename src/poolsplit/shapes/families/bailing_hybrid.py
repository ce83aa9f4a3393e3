"""Ling and Ring 2.5 (lightning) and Ling 3 (delta rule with one gate a channel): latent attention every g-th layer.

`short_conv_kernel_size` tells the two apart. `layer_group_size` is g, or a list with 1 for each linear layer.

Source: the engine's config class.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import (
    Decoder,
    LayerSplit,
    latent_attention,
    layer_count,
    split_by_interval,
    split_by_list,
)
from poolsplit.shapes.model_shape import KimiDelta, LatentAttention, Lightning, VisionTower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_LIST_ROLES: Mapping[object, Role] = {1: "state", 0: "kv"}
_TOWER = VisionTower(layers=None, hidden_size=1152)


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = group_split(text)
    wrapped = text is not outer
    state = bailing_state(text)
    return Decoder(
        family="bailing_hybrid",
        architecture=_architecture(state, wrapped=wrapped),
        layers=split.layers,
        state=state,
        state_layer_ids=split.state,
        attention=_attention(text),
        kv_layer_ids=split.kv,
        num_nextn_predict_layers=text.integer("num_nextn_predict_layers", default=0, minimum=0),
        context_len_default=32_768,
        vision=vision_tower(outer, default=_TOWER) if wrapped else None,
        multimodal=wrapped,
        extra=(("num_key_value_heads", text.integer("num_key_value_heads", default=4)),),
    )


def group_split(text: ConfigKeys) -> LayerSplit:
    """Layers by `layer_group_size`."""
    layers = layer_count(text)
    if isinstance(text.values.get("layer_group_size"), list | tuple):
        listed = split_by_list(text, "layer_group_size", _LIST_ROLES, layers=layers)
        if listed is not None:
            return listed
    return split_by_interval(layers, text.integer("layer_group_size"))


def bailing_state(text: ConfigKeys) -> KimiDelta | Lightning:
    """The linear layers; both forms have one state a query head."""
    heads = text.integer("num_attention_heads")
    head_dim = text.integer("head_dim", default=128)
    if not text.has("short_conv_kernel_size"):
        return Lightning(heads=heads, head_dim=head_dim)
    return KimiDelta(heads=heads, head_dim=head_dim, conv_kernel=text.integer("short_conv_kernel_size"))


def _architecture(state: KimiDelta | Lightning, *, wrapped: bool) -> str:
    if wrapped:
        return "BailingMoeV3VLForConditionalGeneration"
    return "BailingMoeV3ForCausalLM" if isinstance(state, KimiDelta) else "BailingMoeV2_5ForCausalLM"


def _attention(text: ConfigKeys) -> LatentAttention:
    latent = latent_attention(text, rope_default=64)
    if text.has("short_conv_kernel_size") and text.flag("use_mla_nope"):
        return replace(latent, qk_rope_head_dim=0)
    return latent
