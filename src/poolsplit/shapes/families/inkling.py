"""Inkling: short convolutions beside full and windowed attention, both kinds of window on every layer.

`local_layer_ids` are the windowed layers; they get a pool of their own. Every layer keeps all six convolution windows.

Source: public copies of the checkpoints' fields and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count
from poolsplit.shapes.model_shape import SideConv, VisionTower, WindowAttention

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_NEXTN_DEFAULT = 8
_TOWER = VisionTower(layers=None, hidden_size=None)
"""The config class always has a vision config; it names neither its layers nor its width under the keys that count."""


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    layers = layer_count(text)
    window = _window(text, layers)
    attention = grouped_attention(text)
    local = frozenset(window.layer_ids)
    wrapped = text is not outer
    return Decoder(
        family="inkling",
        architecture="InklingForConditionalGeneration",
        layers=layers,
        state=SideConv(
            conv_kernel=text.integer("sconv_kernel_size", default=4),
            kv_heads=attention.kv_heads,
            head_dim=attention.head_dim,
            window_kv_heads=window.kv_heads,
            window_head_dim=window.head_dim,
            hidden_size=text.integer("hidden_size"),
        ),
        state_layer_ids=tuple(range(layers)),
        attention=attention,
        kv_layer_ids=tuple(number for number in range(layers) if number not in local),
        window=window if window.layer_ids else None,
        state_chunk_tokens=64,
        num_nextn_predict_layers=_nextn(text, outer),
        vision=vision_tower(outer, default=_TOWER) if wrapped else None,
        multimodal=wrapped,
        extra=(("mtp_local_layer_ids", _mtp_local(text)),),
    )


def _mtp_local(text: ConfigKeys) -> str:
    """Draft depths with window geometry, as a comma-separated list."""
    return ",".join(str(number) for number in text.sequence("mtp_local_layer_ids") or ())


def _window(text: ConfigKeys, layers: int) -> WindowAttention:
    full = grouped_attention(text)
    width = text.integer("swa_head_dim", default=full.head_dim)
    return WindowAttention(
        layer_ids=text.layer_numbers("local_layer_ids", layers=layers) or (),
        window_tokens=text.integer("sliding_window_size", default=512),
        kv_heads=text.integer("swa_num_key_value_heads", default=full.kv_heads),
        head_dim=width,
        v_head_dim=text.integer("swa_v_head_dim", default=width),
    )


def _nextn(text: ConfigKeys, outer: ConfigKeys) -> int:
    mtp = outer.nested("mtp_config")
    named = mtp.optional_integer("n_layers") if mtp is not None else None
    if named is not None:
        return named
    return text.integer("num_nextn_predict_layers", default=_NEXTN_DEFAULT, minimum=0)
