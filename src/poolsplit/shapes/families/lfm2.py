"""LFM2, its mixture-of-experts and vision forms: gated short convolutions with grouped attention.

New files list `layer_types`; old ones list the attention layers in `full_attn_idxs`.

Source: model configs and the config classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import (
    Decoder,
    LayerSplit,
    grouped_attention,
    layer_count,
    split_by_list,
    split_by_numbers,
)
from poolsplit.shapes.model_shape import ShortConv, VisionTower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {"conv": "state", "short_conv": "state", "full_attention": "kv"}
_ARCHITECTURES = {"lfm2": "Lfm2ForCausalLM", "lfm2_moe": "Lfm2MoeForCausalLM"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = _split(text)
    wrapped = text is not outer
    return Decoder(
        family="lfm2",
        architecture=_ARCHITECTURES.get(outer.values["model_type"], "Lfm2VlForConditionalGeneration"),
        layers=split.layers,
        state=ShortConv(channels=text.integer("hidden_size"), conv_kernel=text.integer("conv_L_cache")),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        reads_state_dtype=outer.values["model_type"] != "lfm2_moe",
        state_chunk_tokens=1,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=128_000,
        vision=vision_tower(outer, default=VisionTower(layers=12, hidden_size=768)) if wrapped else None,
        multimodal=wrapped,
    )


def _split(text: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    listed = split_by_list(text, "layer_types", _ROLES, layers=layers)
    return listed or split_by_numbers(text, "full_attn_idxs", layers=layers, named="layer_types")
