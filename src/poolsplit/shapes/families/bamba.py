"""Bamba: Mamba2 with grouped attention on `attn_layer_indices`.

Served by vLLM only; SGLang's rules refuse the architecture.

Source: the config class of transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_numbers
from poolsplit.shapes.families.granite import mamba2

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    split = split_by_numbers(text, "attn_layer_indices", layers=layers)
    return Decoder(
        family="bamba",
        architecture="BambaForCausalLM",
        layers=layers,
        state=mamba2(text),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        state_chunk_tokens=text.integer("mamba_chunk_size", default=256),
        context_len_default=262_144,
    )
