"""Draft checkpoints: a model's own file named as its draft, an EAGLE or standalone model, a DFLASH or DSPARK block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.shapes.families import is_known, read_model_shape
from poolsplit.shapes.families.common import context_len, text_level, weight_dtype
from poolsplit.shapes.families.decoder import grouped_attention, latent_attention, layer_count
from poolsplit.shapes.families.keys import ConfigKeys
from poolsplit.shapes.model_shape import DraftShape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.model_shape import FullAttention, LatentAttention, ModelShape

_BLOCK_ARCHITECTURES = ("DFlash", "DSpark")


def read_draft_shape(config: Mapping[str, Any], *, name: str) -> DraftShape:
    """A draft checkpoint's shape from its decoded `config.json`.

    Args:
        config: The decoded file.
        name: Catalog or hub id, or the path it was read from; errors name it.

    Raises:
        UnsupportedModelError: A key that the draft needs is missing or nonsense.
    """
    outer = ConfigKeys(config, where=name)
    text = text_level(outer)
    listed = outer.sequence("architectures") or ("",)
    architecture = str(listed[0])
    whole = is_known(outer.text("model_type") or "") and not any(part in architecture for part in _BLOCK_ARCHITECTURES)
    if whole:
        return _of_model(read_model_shape(config, name=name), outer)
    block = _block_size(outer)
    layers = layer_count(text)
    return DraftShape(
        name=name,
        architecture=architecture,
        model_type=outer.text("model_type") or "",
        layers=layers,
        attention=_attention(text),
        kv_layers=layers,
        dtype=weight_dtype(text, outer),
        context_len=context_len(text, default=None),
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
        block_size=block,
        gamma=outer.optional_integer("dspark_block_size", minimum=1) or block,
    )


def _of_model(shape: ModelShape, outer: ConfigKeys) -> DraftShape:
    block = _block_size(outer)
    return DraftShape(
        name=shape.name,
        architecture=shape.architecture,
        model_type=shape.model_type,
        layers=shape.layers,
        attention=shape.attention,
        kv_layers=len(shape.kv_layer_ids),
        dtype=shape.dtype,
        context_len=shape.context_len,
        num_nextn_predict_layers=shape.num_nextn_predict_layers,
        block_size=block,
        gamma=outer.optional_integer("dspark_block_size", minimum=1) or block,
    )


def _attention(text: ConfigKeys) -> FullAttention | LatentAttention:
    return latent_attention(text) if text.has("kv_lora_rank") else grouped_attention(text)


def _block_size(outer: ConfigKeys) -> int | None:
    """The block under `dflash_config`, else at the top.

    Source: the order of the engine's own draft reader.
    """
    nested = outer.nested("dflash_config")
    found = nested.optional_integer("block_size", minimum=1) if nested is not None else None
    return found or outer.optional_integer("block_size", minimum=1)
