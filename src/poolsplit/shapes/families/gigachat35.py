"""GigaChat 3.5: gated delta rule with latent attention.

Source: the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import (
    Decoder,
    LayerSplit,
    latent_attention,
    layer_count,
    split_by_list,
    split_by_numbers,
)
from poolsplit.shapes.families.qwen3_next import ROLES, gated_delta

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = _split(text)
    return Decoder(
        family="gigachat35",
        architecture="GigaChat35ForCausalLM",
        layers=split.layers,
        state=gated_delta(text),
        state_layer_ids=split.state,
        attention=latent_attention(text),
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        num_nextn_predict_layers=text.integer("num_nextn_predict_layers", default=0, minimum=0),
        context_len_default=4096,
    )


def _split(text: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    listed = split_by_list(text, "layer_types", ROLES, layers=layers)
    return listed or split_by_numbers(text, "full_attention_layers", layers=layers, named="layer_types")
