"""PLaMo 2: Mamba2 without groups in the convolution, with grouped attention once every `mamba_step` layers.

Served by vLLM only; SGLang's rules refuse the architecture. The attention window of the file is not applied: rows are
kept for the whole context, as they are served.

Source: public copies of the checkpoint's fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_kv
from poolsplit.shapes.model_shape import Mamba2

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = split_by_kv(layer_count(text), _attention_layers(text))
    head_dim = text.integer("hidden_size_per_head")
    heads = text.integer("mamba_num_heads")
    return Decoder(
        family="plamo2",
        architecture="Plamo2ForCausalLM",
        layers=split.layers,
        state=Mamba2(
            heads=heads,
            head_dim=head_dim,
            state_size=text.integer("mamba_d_state"),
            groups=0,
            inner_width=heads * head_dim,
            conv_kernel=text.integer("mamba_d_conv"),
        ),
        state_layer_ids=split.state,
        attention=grouped_attention(text, head_dim=head_dim),
        kv_layer_ids=split.kv,
    )


def _attention_layers(text: ConfigKeys) -> tuple[int, ...]:
    layers = layer_count(text)
    if not text.flag("mamba_enabled", default=True):
        return tuple(range(layers))
    step = text.integer("mamba_step", minimum=2)
    if layers <= step // 2:
        return (layers - 1,)
    return tuple(range(step // 2, layers, step))
