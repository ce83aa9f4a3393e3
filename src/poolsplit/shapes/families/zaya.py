"""ZAYA1: convolutions over compressed queries and keys beside the attention, on the same layers.

Checkpoints alternate attention and expert layers. `zaya_layers` (`a` for attention, a number of experts for the
others) gives the depth when it is there; without it every even layer is attention. The newer config class, told by its
`moe_intermediate_size`, counts an attention and an expert layer as one: there every layer keeps both.

Source: the engine's config class, whose defaults fill what a file leaves out, and the class of transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, LayerSplit, layer_count
from poolsplit.shapes.model_shape import CompressedConv, FullAttention

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.shapes.families.keys import ConfigKeys

_LAYERS_DEFAULT = 80
_HIDDEN_DEFAULT = 2048


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = _split(text)
    attention = _attention(text)
    heads = _first_number(text, "cca_num_q_heads") or text.integer("num_attention_heads", default=8)
    padding = text.integer("cca_time0", default=2) + text.integer("cca_time1", default=2) - 2
    return Decoder(
        family="zaya",
        architecture="ZayaForCausalLM",
        layers=split.layers,
        state=CompressedConv(
            channels=(heads + attention.kv_heads) * attention.head_dim,
            window=padding,
            hidden_size=text.integer("hidden_size", default=_HIDDEN_DEFAULT),
        ),
        state_layer_ids=split.state,
        attention=attention,
        kv_layer_ids=split.kv,
        reads_state_dtype=True,
        state_chunk_tokens=1,
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        context_len_default=32_768,
    )


def _split(text: ConfigKeys) -> LayerSplit:
    listed = text.sequence("zaya_layers")
    if not listed:
        layers = layer_count(text) if text.has("num_hidden_layers") else _LAYERS_DEFAULT
        attention = tuple(range(0, layers, 1 if text.has("moe_intermediate_size") else 2))
        return LayerSplit(layers=layers, state=attention, kv=attention)
    kinds = tuple(_kind(text, number, entry) for number, entry in enumerate(listed))
    attention = tuple(number for number, kind in enumerate(kinds) if kind == "a")
    return LayerSplit(layers=len(kinds), state=attention, kv=attention)


def _kind(text: ConfigKeys, number: int, entry: object) -> str:
    if entry == "a":
        return "a"
    if isinstance(entry, int) and not isinstance(entry, bool) and entry > 0:
        return "experts"
    raise text.wrong(f"zaya_layers[{number}]", entry, "`a` or a number of experts")


def _attention(text: ConfigKeys) -> FullAttention:
    width = text.integer("head_dim", "kv_channels", default=128)
    kv_heads = text.integer("num_key_value_heads", default=2)
    return FullAttention(kv_heads=kv_heads, head_dim=width, v_head_dim=width)


def _first_number(text: ConfigKeys, key: str) -> int | None:
    """First entry of a per-layer list that is not zero."""
    listed: Sequence[object] = text.sequence(key) or ()
    return next((entry for entry in listed if isinstance(entry, int) and entry > 0), None)
