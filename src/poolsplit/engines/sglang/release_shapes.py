"""A model as one release reads it, where a release reads it otherwise than it is."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from poolsplit.shapes.model_shape import FullAttention, KimiDelta, Lightning

if TYPE_CHECKING:
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

_BAILING_FAMILY = "bailing_hybrid"


def shape_in_release(shape: ModelShape, switches: Switches) -> ModelShape:
    """The shape that this release sizes its pools by.

    Early releases know Bailing 2.5 alone. They take V3's delta-rule layers for lightning layers, a state without
    convolution windows, and its latent attention for plain heads.
    """
    misread = shape.family == _BAILING_FAMILY and not switches.reads_bailing_kda
    return _as_lightning(shape) if misread and isinstance(shape.state, KimiDelta) else shape


@lru_cache(maxsize=64)
def _as_lightning(shape: ModelShape) -> ModelShape:
    layer = shape.state
    if not isinstance(layer, KimiDelta):
        return shape
    kv_heads = int(dict(shape.extra)["num_key_value_heads"])
    plain = FullAttention(kv_heads=kv_heads, head_dim=layer.head_dim, v_head_dim=layer.head_dim)
    return replace(shape, state=Lightning(heads=layer.heads, head_dim=layer.head_dim), attention=plain)
