"""Falcon-H1: every layer runs Mamba2 and grouped attention side by side.

Source: model configs and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count
from poolsplit.shapes.families.granite import mamba2

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_CHUNK_DEFAULT = 256


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    every = tuple(range(layers))
    return Decoder(
        family="falcon_h1",
        architecture="FalconH1ForCausalLM",
        layers=layers,
        state=mamba2(text, inner_key="mamba_d_ssm"),
        state_layer_ids=every,
        attention=grouped_attention(text),
        kv_layer_ids=every,
        reads_state_dtype=True,
        state_chunk_tokens=text.integer("mamba_chunk_size", default=_CHUNK_DEFAULT),
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=8192,
    )
