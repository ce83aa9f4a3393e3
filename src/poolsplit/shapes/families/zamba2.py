"""Zamba2: Mamba2 on every layer, and a shared attention block in front of the "hybrid" ones.

The shared block's weights are reused, its KV rows are not: they are kept for each use. The block runs on twice the
hidden size. Old and new files name the same sizes differently; both are read.
Served by vLLM only; SGLang's rules refuse the architecture.

Source: the published config of Zamba2-7B and the config class of transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, layer_count, split_by_list
from poolsplit.shapes.model_shape import FullAttention, Mamba2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {"mamba": "state", "linear_attention": "state", "hybrid": "both"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = split_by_list(text, "layers_block_type", _ROLES, layers=layer_count(text))
    if split is None:
        raise text.missing("layers_block_type")
    heads = text.integer("num_attention_heads")
    width = 2 * text.integer("hidden_size") // heads
    return Decoder(
        family="zamba2",
        architecture="Zamba2ForCausalLM",
        layers=split.layers,
        state=_mamba(text),
        state_layer_ids=split.state,
        attention=FullAttention(
            kv_heads=text.integer("num_key_value_heads", default=heads), head_dim=width, v_head_dim=width
        ),
        kv_layer_ids=split.kv,
    )


def _mamba(text: ConfigKeys) -> Mamba2:
    inner = text.integer("mamba_expand", "expansion_factor") * text.integer("hidden_size")
    named = text.optional_integer("mamba_headdim", minimum=1)
    head_dim = named or inner // text.integer("n_mamba_heads")
    if not head_dim or inner % head_dim:
        raise text.wrong(
            "mamba_headdim" if named else "n_mamba_heads", head_dim, f"a divisor of the inner width {inner}"
        )
    return Mamba2(
        heads=inner // head_dim,
        head_dim=head_dim,
        state_size=text.integer("mamba_d_state", "state_size"),
        groups=text.integer("mamba_ngroups", default=1),
        inner_width=inner,
        conv_kernel=text.integer("mamba_d_conv", "conv_dimension"),
    )
