"""A model as one release reads it, where a release reads it otherwise than it is."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from poolsplit.shapes.model_shape import KimiDelta, Lightning

if TYPE_CHECKING:
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

_BAILING_FAMILY = "bailing_hybrid"


def shape_in_release(shape: ModelShape, switches: Switches) -> ModelShape:
    """The shape that this release sizes its pools by.

    Early releases take the delta-rule layers of Bailing V3 for lightning layers: a state without convolution windows.
    """
    misread = shape.family == _BAILING_FAMILY and not switches.reads_bailing_kda
    return _as_lightning(shape) if misread and isinstance(shape.state, KimiDelta) else shape


@lru_cache(maxsize=64)
def _as_lightning(shape: ModelShape) -> ModelShape:
    layer = shape.state
    if not isinstance(layer, KimiDelta):
        return shape
    return replace(shape, state=Lightning(heads=layer.heads, head_dim=layer.head_dim))
