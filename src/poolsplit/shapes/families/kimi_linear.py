"""Kimi-Linear and Kimi-K3: delta rule with one gate a channel, and latent attention.

`linear_attn_config.kda_layers` counts layers from 1; every layer that is not in it keeps KV rows.

Source: model configs and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import Decoder, LayerSplit, latent_attention, layer_count, split_by_kv
from poolsplit.shapes.model_shape import KimiDelta, VisionTower

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_TOWER = VisionTower(layers=27, hidden_size=1024)


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    linear = text.need("linear_attn_config")
    split = _split(text, linear)
    wrapped = text is not outer
    tower = vision_tower(outer, layers="vt_num_hidden_layers", hidden="vt_hidden_size", default=_TOWER)
    return Decoder(
        family="kimi_linear",
        architecture="KimiK3ForConditionalGeneration" if wrapped else "KimiLinearForCausalLM",
        layers=split.layers,
        state=kimi_delta(linear),
        state_layer_ids=split.state,
        attention=latent_attention(text),
        kv_layer_ids=split.kv,
        num_nextn_predict_layers=text.integer("num_nextn_predict_layers", default=0, minimum=0),
        context_len_default=4096,
        vision=tower if wrapped else None,
        multimodal=wrapped,
    )


def kimi_delta(linear: ConfigKeys) -> KimiDelta:
    """The delta-rule layers by the keys of `linear_attn_config`."""
    return KimiDelta(
        heads=linear.integer("num_heads"),
        head_dim=linear.integer("head_dim"),
        conv_kernel=linear.integer("short_conv_kernel_size"),
    )


def _split(text: ConfigKeys, linear: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    state = linear.layer_numbers("kda_layers", layers=layers, first=1)
    if state is None:
        raise linear.missing("kda_layers")
    full = linear.layer_numbers("full_attn_layers", layers=layers, first=1)
    held = frozenset(state)
    kv = tuple(number for number in range(layers) if number not in held)
    if full is not None and full != kv:
        raise linear.wrong("full_attn_layers", f"{len(full)} layers", "every layer that `kda_layers` does not name")
    return split_by_kv(layers, kv)
