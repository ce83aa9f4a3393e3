"""Ring-mini-linear and Ring-flash-linear 2.0: lightning layers with grouped attention every g-th layer.

SGLang registers no class for it; its rules refuse the architecture.

Source: a public copy of the config, and the published layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.bailing_hybrid import bailing_state, group_split
from poolsplit.shapes.families.decoder import Decoder, grouped_attention

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    split = group_split(text)
    return Decoder(
        family="bailing_linear",
        architecture="BailingMoeLinearV2ForCausalLM",
        layers=split.layers,
        state=bailing_state(text),
        state_layer_ids=split.state,
        attention=grouped_attention(text),
        kv_layer_ids=split.kv,
        num_nextn_predict_layers=text.integer("num_nextn_predict_layers", default=0, minimum=0),
    )
