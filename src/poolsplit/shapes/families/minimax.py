"""MiniMax-Text-01 and M1: lightning layers and grouped attention by `attn_type_list` (0 linear, 1 softmax).

Served by vLLM only; SGLang's rules refuse the architecture.

Source: the published config of MiniMax-M1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_list
from poolsplit.shapes.model_shape import Lightning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {0: "state", 1: "kv"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = split_by_list(text, "attn_type_list", _ROLES, layers=layer_count(text))
    if split is None:
        raise text.missing("attn_type_list")
    attention = grouped_attention(text)
    first = outer.values.get("model_type") == "minimax_text_01"
    return Decoder(
        family="minimax",
        architecture="MiniMaxText01ForCausalLM" if first else "MiniMaxM1ForCausalLM",
        layers=split.layers,
        state=Lightning(heads=text.integer("num_attention_heads"), head_dim=attention.head_dim),
        state_layer_ids=split.state,
        attention=attention,
        kv_layer_ids=split.kv,
    )
