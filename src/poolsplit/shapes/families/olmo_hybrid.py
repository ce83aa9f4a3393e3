"""OLMo-Hybrid: gated delta rule with full attention by `layer_types`.

Served by vLLM only; SGLang's rules refuse the architecture.

Source: the config class of transformers, which also derives the linear widths where a file leaves them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import (
    Decoder,
    grouped_attention,
    layer_count,
    split_by_interval,
    split_by_list,
)
from poolsplit.shapes.families.qwen3_next import ROLES
from poolsplit.shapes.model_shape import GatedDeltaNet

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    split = split_by_list(text, "layer_types", ROLES, layers=layers) or split_by_interval(layers, 4)
    return Decoder(
        family="olmo_hybrid",
        architecture="OlmoHybridForCausalLM",
        layers=layers,
        state=_delta(text),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        context_len_default=65_536,
    )


def _delta(text: ConfigKeys) -> GatedDeltaNet:
    heads = text.integer("num_attention_heads")
    key_heads = text.integer("linear_num_key_heads", default=heads)
    derived = 3 * text.integer("hidden_size") // (4 * key_heads)
    key_dim = text.integer("linear_key_head_dim", default=derived)
    return GatedDeltaNet(
        key_heads=key_heads,
        value_heads=text.integer("linear_num_value_heads", default=heads),
        key_head_dim=key_dim,
        value_head_dim=text.integer("linear_value_head_dim", default=2 * key_dim),
        conv_kernel=text.integer("linear_conv_kernel_dim", default=4),
    )
