"""MiniCPM-SALA: lightning layers and grouped attention by `mixer_types`, repeated to the model's depth.

Source: a printed config and the engine's config class, whose other names of the two kinds are read as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, LayerSplit, grouped_attention, layer_count, split_by_kind
from poolsplit.shapes.model_shape import Lightning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {
    "minicpm4": "kv",
    "minicpm": "kv",
    "standard": "kv",
    "attention": "kv",
    "attn": "kv",
    "lightning": "state",
    "lightning_attn": "state",
    "lightning-attn": "state",
}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = _split(text)
    attention = grouped_attention(text)
    sparse = text.nested("sparse_config") is not None
    return Decoder(
        family="minicpm_sala",
        architecture="MiniCPMSALAForCausalLM",
        layers=split.layers,
        state=Lightning(
            heads=text.integer("lightning_nkv", default=attention.kv_heads),
            head_dim=text.integer("lightning_head_dim", default=attention.head_dim),
        ),
        state_layer_ids=split.state,
        attention=attention,
        kv_layer_ids=split.kv,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=32_768,
        extra=(("sparse_config", sparse),),
    )


def _split(text: ConfigKeys) -> LayerSplit:
    layers = layer_count(text)
    kinds = text.sequence("mixer_types")
    if not kinds:
        raise text.missing("mixer_types")
    if len(kinds) > layers:
        raise text.wrong("mixer_types", f"{len(kinds)} entries", f"at most the {layers} layers")
    repeats = -(-layers // len(kinds))
    return split_by_kind(text, "mixer_types", (list(kinds) * repeats)[:layers], _ROLES)
