"""Granite 4 hybrids: Mamba2 and grouped attention by `layer_types`.

Some files of the family name no mamba layer at all: those are models without a state.

Source: model configs and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_interval, split_by_list
from poolsplit.shapes.model_shape import Mamba2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {
    "mamba": "state",
    "linear_attention": "state",
    "attention": "kv",
    "full_attention": "kv",
}
_INTERVAL_DEFAULT = 6
_CHUNK_DEFAULT = 256


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    split = split_by_list(text, "layer_types", _ROLES, layers=layers) or split_by_interval(layers, _INTERVAL_DEFAULT)
    return Decoder(
        family="granite",
        architecture="GraniteMoeHybridForCausalLM",
        layers=layers,
        state=mamba2(text) if split.state else None,
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        state_chunk_tokens=text.integer("mamba_chunk_size", default=_CHUNK_DEFAULT),
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=131_072,
    )


def mamba2(text: ConfigKeys, *, inner_key: str = "") -> Mamba2:
    """Mamba2 layers by the `mamba_*` keys; the inner width is `inner_key`, else `mamba_expand` times the hidden size.

    Raises:
        UnsupportedModelError: Heads times head width is not the inner width.
    """
    inner = text.optional_integer(inner_key, minimum=1) if inner_key else None
    if inner is None:
        inner = int(text.number("mamba_expand") * text.integer("hidden_size"))
    heads = text.integer("mamba_n_heads")
    auto = not text.has("mamba_d_head") or text.values["mamba_d_head"] == "auto"
    head_dim = inner // heads if auto else text.integer("mamba_d_head")
    if heads * head_dim != inner:
        raise text.wrong("mamba_n_heads", heads, f"heads times head width to be the inner width {inner}")
    return Mamba2(
        heads=heads,
        head_dim=head_dim,
        state_size=text.integer("mamba_d_state"),
        groups=text.integer("mamba_n_groups", default=1),
        inner_width=inner,
        conv_kernel=text.integer("mamba_d_conv"),
    )
