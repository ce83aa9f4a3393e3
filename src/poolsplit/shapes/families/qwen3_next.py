"""Qwen3-Next, Qwen3.5, 3.6 and 3.8, and the vision wrappers around them: gated delta rule with grouped attention.

Layer i keeps KV rows when i + 1 divides by `full_attention_interval`. The newer files also carry `layer_types`, which
the engine does not read for this line; it decides here only when there is no interval. Qwen3-Next checkpoints carry one
draft layer that their config does not name; later ones name it.

Source: model configs and the engine's config classes, whose defaults fill what a file leaves out.
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
from poolsplit.shapes.model_shape import GatedDeltaNet, VisionTower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

ROLES: Mapping[object, Role] = {"linear_attention": "state", "full_attention": "kv", "attention": "kv"}
CONTEXT_LEN_DEFAULT = 32_768
_TOWER = VisionTower(layers=None, hidden_size=1152)
_ARCHITECTURES = {
    "qwen3_next": "Qwen3NextForCausalLM",
    "qwen3_5": "Qwen3_5ForConditionalGeneration",
    "qwen3_5_text": "Qwen3_5ForCausalLM",
    "qwen3_5_moe": "Qwen3_5MoeForConditionalGeneration",
    "qwen3_5_moe_text": "Qwen3_5MoeForCausalLM",
    "intern_s2_preview": "InternS2PreviewForConditionalGeneration",
}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = _split(text)
    wrapped = text is not outer
    return Decoder(
        family="qwen3_next",
        architecture=_ARCHITECTURES[outer.values["model_type"]],
        layers=split.layers,
        state=gated_delta(text),
        state_layer_ids=split.state,
        attention=grouped_attention(text, head_dim=text.integer("head_dim", default=256)),
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        unnamed_draft_layers=1 if outer.values["model_type"] == "qwen3_next" else 0,
        context_len_default=CONTEXT_LEN_DEFAULT,
        vision=vision_tower(outer, default=_TOWER) if wrapped else None,
        multimodal=wrapped,
    )


def gated_delta(text: ConfigKeys) -> GatedDeltaNet:
    """The delta-rule layers by the `linear_*` keys."""
    return GatedDeltaNet(
        key_heads=text.integer("linear_num_key_heads"),
        value_heads=text.integer("linear_num_value_heads"),
        key_head_dim=text.integer("linear_key_head_dim"),
        value_head_dim=text.integer("linear_value_head_dim"),
        conv_kernel=text.integer("linear_conv_kernel_dim"),
    )


def _split(text: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    listed = split_by_list(text, "layer_types", ROLES, layers=layers)
    if listed is not None and not text.has("full_attention_interval"):
        return listed
    return split_by_interval(layers, text.integer("full_attention_interval"))
