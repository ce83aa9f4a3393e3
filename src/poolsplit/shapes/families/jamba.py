"""Jamba: first-form Mamba, with grouped attention where the layer number modulo a period is the offset.

Served by vLLM only; SGLang's rules refuse the architecture.

Source: the published config of Jamba v0.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_kv
from poolsplit.shapes.model_shape import Mamba1

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    period = text.integer("attn_layer_period")
    offset = text.integer("attn_layer_offset", minimum=0)
    if offset >= period:
        raise text.wrong("attn_layer_offset", offset, f"a number below the period {period}")
    split = split_by_kv(layers, tuple(range(offset, layers, period)))
    return Decoder(
        family="jamba",
        architecture="JambaForCausalLM",
        layers=layers,
        state=Mamba1(
            inner_width=int(text.number("mamba_expand") * text.integer("hidden_size")),
            state_size=text.integer("mamba_d_state"),
            conv_kernel=text.integer("mamba_d_conv"),
        ),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
    )
