"""Pure Mamba, Falcon-Mamba and Mamba2 models: a state on every layer, no attention and no context limit.

The first form convolves the inner width alone; the second convolves its groups' keys and queries with it.

Source: model configs and the config classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, layer_count
from poolsplit.shapes.model_shape import Mamba1, Mamba2

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_CHUNK_DEFAULT = 256
_ARCHITECTURES = {
    "mamba": "MambaForCausalLM",
    "falcon_mamba": "FalconMambaForCausalLM",
    "mamba2": "Mamba2ForCausalLM",
}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    layers = layer_count(text)
    second = outer.values["model_type"] == "mamba2"
    chunk = text.integer("chunk_size", default=_CHUNK_DEFAULT) if second else _CHUNK_DEFAULT
    return Decoder(
        family="mamba",
        architecture=_ARCHITECTURES[outer.values["model_type"]],
        layers=layers,
        state=_second_form(text) if second else _first_form(text),
        state_layer_ids=tuple(range(layers)),
        attention=None,
        kv_layer_ids=(),
        state_chunk_tokens=chunk,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
    )


def _first_form(text: ConfigKeys) -> Mamba1:
    return Mamba1(
        inner_width=_inner_width(text),
        state_size=text.integer("state_size"),
        conv_kernel=text.integer("conv_kernel"),
    )


def _second_form(text: ConfigKeys) -> Mamba2:
    return Mamba2(
        heads=text.integer("num_heads"),
        head_dim=text.integer("head_dim"),
        state_size=text.integer("state_size"),
        groups=text.integer("n_groups"),
        inner_width=_inner_width(text),
        conv_kernel=text.integer("conv_kernel"),
    )


def _inner_width(text: ConfigKeys) -> int:
    named = text.optional_integer("intermediate_size", "d_inner", minimum=1)
    return named or int(text.number("expand") * text.integer("hidden_size"))
