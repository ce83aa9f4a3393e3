"""Jet-Nemotron and its vision wrapper: delta-rule "jet" layers, full and windowed attention.

The windowed layers get no pool of their own: they keep KV rows for the whole context like the full ones.

Source: model configs and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import Decoder, grouped_attention, split_by_list
from poolsplit.shapes.model_shape import GatedDeltaNet, VisionTower

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {"jet": "state", "attn": "kv", "swa": "kv"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = split_by_list(text, "layer_types", _ROLES, layers=text.integer("num_hidden_layers"))
    if split is None:
        raise text.missing("layer_types")
    wrapped = text is not outer
    return Decoder(
        family="jet_nemotron",
        architecture="JetVLMForConditionalGeneration" if wrapped else "JetNemotronForCausalLM",
        layers=split.layers,
        state=_jet(text.need("efficient_attention_config").need("jet")),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        vision=vision_tower(outer, default=VisionTower(layers=12, hidden_size=768)) if wrapped else None,
        multimodal=wrapped,
    )


def _jet(jet: ConfigKeys) -> GatedDeltaNet:
    heads = jet.integer("num_heads")
    key_dim = jet.integer("head_dim")
    return GatedDeltaNet(
        key_heads=heads,
        value_heads=heads,
        key_head_dim=key_dim,
        value_head_dim=int(key_dim * jet.number("expand_v")),
        conv_kernel=jet.integer("conv_size"),
    )
