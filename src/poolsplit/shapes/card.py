"""One model on one page: its layers and what a slot and a token cost at each tensor-parallel width.

Figures are those of a launch without flags: 2-byte convolution windows, the recurrent state in the config's dtype or
float32, KV rows in the dtype that the checkpoint declares or in 2 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.derivation import Step
from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.costs import (
    KvFormat,
    StateFormat,
    conv_shapes,
    kv_bytes_per_token,
    own_index_layers,
    state_bytes_per_slot,
    state_layer_bytes,
    temporal_shape,
)

if TYPE_CHECKING:
    from poolsplit.shapes.model_shape import ModelShape

WIDTHS = (1, 2, 4, 8, 16)
_CONV_BYTES = 2
_DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_KV_BYTES = {"fp8_e4m3": 1}
_PLAIN_KV_BYTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RankCost:
    """What one rank pays at one tensor-parallel width."""

    tp_size: int
    state_bytes_per_slot: int
    kv_bytes_per_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """One model, ready to be listed."""

    shape: ModelShape
    origin: str
    state_dtype: str
    """Of the recurrent part; of the convolution windows, where a model keeps nothing else."""
    kv_dtype: str
    state_bytes_per_slot: int
    kv_bytes_per_token: int
    """Full-context layers only; windowed layers have a pool of their own."""
    ranks: tuple[RankCost, ...]
    """The widths that divide the model's heads and channels."""
    weights_bytes: int | None
    weights_source: str


def card_of(shape: ModelShape, *, origin: str, weights_bytes: int | None, weights_source: str) -> ModelCard:
    """A model's card."""
    whole = _rank_cost(shape, 1)
    return ModelCard(
        shape=shape,
        origin=origin,
        state_dtype=_state_dtype(shape),
        kv_dtype=_kv_dtype(shape),
        state_bytes_per_slot=whole.state_bytes_per_slot,
        kv_bytes_per_token=whole.kv_bytes_per_token,
        ranks=tuple(cost for width in WIDTHS if (cost := _possible_rank_cost(shape, width)) is not None),
        weights_bytes=weights_bytes,
        weights_source=weights_source,
    )


def steps(card: ModelCard) -> tuple[Step, ...]:
    """How the two figures were found."""
    shape = card.shape
    found: list[Step] = []
    if shape.state is not None:
        layout = _state_format(shape, 1)
        windows, recurrent = state_layer_bytes(shape.state, layout)
        shapes = " + ".join("x".join(map(str, window)) for window in conv_shapes(shape.state, layout))
        matrix = "x".join(map(str, temporal_shape(shape.state, 1)))
        found += [
            Step(name="state_layers", value=len(shape.state_layer_ids), unit="layers", source="config"),
            Step(name="conv_bytes_per_layer", value=windows, unit="bytes", source=f"{shapes} x {_CONV_BYTES} bytes"),
            Step(
                name="recurrent_bytes_per_layer", value=recurrent, unit="bytes", source=f"{matrix}, {card.state_dtype}"
            ),
        ]
    found += [
        Step(
            name="state_bytes_per_slot",
            value=card.state_bytes_per_slot,
            unit="bytes",
            source="state layers x (convolution + recurrent bytes)",
        ),
        Step(name="kv_layers", value=len(shape.kv_layer_ids), unit="layers", source="config"),
        Step(
            name="kv_bytes_per_token",
            value=card.kv_bytes_per_token,
            unit="bytes",
            source=f"KV layers x bytes of one row in {card.kv_dtype}",
        ),
    ]
    return tuple(found)


def _possible_rank_cost(shape: ModelShape, width: int) -> RankCost | None:
    try:
        return _rank_cost(shape, width)
    except UnsupportedModelError:
        return None


def _rank_cost(shape: ModelShape, width: int) -> RankCost:
    kv = KvFormat(element_bytes=_KV_BYTES.get(_kv_dtype(shape), _PLAIN_KV_BYTES))
    return RankCost(
        tp_size=width,
        state_bytes_per_slot=state_bytes_per_slot(shape, _state_format(shape, width)),
        kv_bytes_per_token=kv_bytes_per_token(
            shape,
            kv,
            head_width=width,
            layers=len(shape.kv_layer_ids),
            indexed_layers=own_index_layers(shape, shape.kv_layer_ids),
        ),
    )


def _state_dtype(shape: ModelShape) -> str:
    """Of the recurrent part; of the windows, where there is nothing else."""
    if shape.state is not None and not state_layer_bytes(shape.state, _state_format(shape, 1))[1]:
        return "bfloat16"
    return shape.state_dtype or "float32"


def _state_format(shape: ModelShape, width: int) -> StateFormat:
    element_bytes = _DTYPE_BYTES[shape.state_dtype or "float32"]
    return StateFormat(width=width, conv_element_bytes=_CONV_BYTES, state_element_bytes=element_bytes)


def _kv_dtype(shape: ModelShape) -> str:
    if shape.kv_quant_dtype in _KV_BYTES:
        return shape.kv_quant_dtype
    return shape.dtype if _DTYPE_BYTES[shape.dtype] == _PLAIN_KV_BYTES else "float16"
