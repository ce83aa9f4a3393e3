"""Nemotron-H, Nemotron 3 and their vision wrapper: Mamba2, grouped attention and feed-forward layers by a pattern.

`layers_block_type`, or the letters of `hybrid_override_pattern` (M state, * attention, - and E neither), give the
depth; `num_hidden_layers` is not read. Old files write the head width as `attention_head_dim`.
`mamba_ssm_cache_dtype` is another engine's key: it is kept as not read.

Source: model configs and the engine's config class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.common import vision_tower
from poolsplit.shapes.families.decoder import Decoder, LayerSplit, grouped_attention, split_by_kind
from poolsplit.shapes.model_shape import Mamba2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_LETTERS: Mapping[object, Role] = {"M": "state", "*": "kv", "-": "none", "E": "none"}
_BLOCKS: Mapping[object, Role] = {
    "mamba": "state",
    "linear_attention": "state",
    "attention": "kv",
    "full_attention": "kv",
    "mlp": "none",
    "moe": "none",
}
_CHUNK_DEFAULT = 256


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:
    """The decoder by the family's keys."""
    split = _split(text)
    wrapped = text is not outer
    head_dim = text.integer("head_dim", "attention_head_dim", default=128)
    return Decoder(
        family="nemotron_h",
        architecture="NemotronH_Nano_VL_V2" if wrapped else "NemotronHForCausalLM",
        layers=split.layers,
        state=_mamba(text),
        state_layer_ids=split.state,
        attention=grouped_attention(text, head_dim=head_dim),
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        state_chunk_tokens=text.integer("mamba_chunk_size", "chunk_size", default=_CHUNK_DEFAULT),
        num_nextn_predict_layers=text.integer("num_nextn_predict_layers", default=0, minimum=0),
        context_len_default=4096,
        vision=vision_tower(outer, default=None) if wrapped else None,
        multimodal=wrapped,
    )


def _split(text: ConfigKeys) -> LayerSplit:
    blocks = text.sequence("layers_block_type")
    if blocks is not None:
        return split_by_kind(text, "layers_block_type", blocks, _BLOCKS)
    pattern = text.text("hybrid_override_pattern")
    if pattern is None:
        raise text.missing("hybrid_override_pattern")
    return split_by_kind(text, "hybrid_override_pattern", pattern, _LETTERS)


def _mamba(text: ConfigKeys) -> Mamba2:
    heads = text.integer("mamba_num_heads")
    head_dim = text.integer("mamba_head_dim")
    return Mamba2(
        heads=heads,
        head_dim=head_dim,
        state_size=text.integer("ssm_state_size"),
        groups=text.integer("n_groups", "mamba_n_groups"),
        inner_width=heads * head_dim,
        conv_kernel=text.integer("conv_kernel", "mamba_d_conv"),
    )
