"""One reader a family: the keys of a `config.json` become a `ModelShape`.

A family is chosen by `model_type` alone. A config of a family that is not listed here is refused, never read as
"attention on every layer".
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.families.common import (
    context_len,
    draft_layers,
    kv_quant_dtype,
    state_dtypes,
    text_level,
    weight_dtype,
)
from poolsplit.shapes.families.keys import ConfigKeys
from poolsplit.shapes.model_shape import ModelShape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Decoder
    from poolsplit.shapes.model_shape import Provenance

_READERS = {
    "qwen3_next": "qwen3_next",
    "qwen3_5": "qwen3_next",
    "qwen3_5_text": "qwen3_next",
    "qwen3_5_moe": "qwen3_next",
    "qwen3_5_moe_text": "qwen3_next",
    "intern_s2_preview": "qwen3_next",
    "qwen4_exp": "qwen4_exp",
    "qwen4_exp_text": "qwen4_exp",
    "gigachat3_5": "gigachat35",
    "jet_nemotron": "jet_nemotron",
    "jet_vlm": "jet_nemotron",
    "kimi_linear": "kimi_linear",
    "kimi_k3": "kimi_linear",
    "glm5_next": "glm5_next",
    "glm5_next_text": "glm5_next",
    "bailing_hybrid": "bailing_hybrid",
    "bailing_moe_v3_vl": "bailing_hybrid",
    "bailing_moe_linear": "bailing_linear",
    "minicpm_sala": "minicpm_sala",
    "minimax_m1": "minimax",
    "minimax_text_01": "minimax",
    "nemotron_h": "nemotron_h",
    "NemotronH_Nano_VL_V2": "nemotron_h",
    "granitemoehybrid": "granite",
    "bamba": "bamba",
    "falcon_h1": "falcon_h1",
    "mamba": "mamba",
    "falcon_mamba": "mamba",
    "mamba2": "mamba",
    "jamba": "jamba",
    "zamba2": "zamba2",
    "plamo2": "plamo2",
    "olmo_hybrid": "olmo_hybrid",
    "lfm2": "lfm2",
    "lfm2_moe": "lfm2",
    "lfm2_vl": "lfm2",
    "lfm2-vl": "lfm2",
    "zaya": "zaya",
    "inkling_mm_model": "inkling",
    "inkling_model": "inkling",
    "qwen2": "dense",
    "qwen2_moe": "dense",
    "qwen3": "dense",
    "qwen3_moe": "dense",
    "llama": "dense",
    "mistral": "dense",
    "mixtral": "dense",
    "olmo2": "dense",
    "minimax_m2": "dense",
}


class FamilyReader(Protocol):
    """What a family's module offers."""

    def read(self, text: ConfigKeys, outer: ConfigKeys) -> Decoder:
        """The decoder by the family's keys."""
        ...


def known_model_types() -> tuple[str, ...]:
    """Every `model_type` that a reader exists for."""
    return tuple(_READERS)


def is_known(model_type: str) -> bool:
    """Whether a reader exists for a `model_type`."""
    return model_type in _READERS


def read_model_shape(
    config: Mapping[str, Any],
    *,
    name: str,
    source: str = "",
    provenance: Provenance = "exact",
    caution: str = "",
) -> ModelShape:
    """A model's shape from its decoded `config.json`.

    Args:
        config: The decoded file.
        name: Catalog or hub id, or the path it was read from; errors name it.
        source: Where the config comes from.
        provenance: How sure the config is.
        caution: What every answer from this config must say.

    Raises:
        UnsupportedModelError: A family, layer kind, dtype or value that is not understood; it names key and file.
    """
    outer = ConfigKeys(config, where=name)
    text = text_level(outer)
    model_type = outer.text("model_type") or ""
    decoder = _reader(model_type, outer).read(text, outer)
    read_dtype, unread_dtype = state_dtypes(text, outer, read=decoder.reads_state_dtype)
    return ModelShape(
        name=name,
        architecture=_architecture(outer) or decoder.architecture,
        model_type=model_type,
        family=decoder.family,
        layers=decoder.layers,
        state=decoder.state if decoder.state_layer_ids else None,
        state_layer_ids=decoder.state_layer_ids,
        attention=decoder.attention if decoder.kv_layer_ids else None,
        kv_layer_ids=decoder.kv_layer_ids,
        window=decoder.window,
        context_len=context_len(text, default=None if provenance == "derived" else decoder.context_len_default),
        dtype=weight_dtype(text, outer),
        state_dtype=read_dtype,
        state_dtype_unread=unread_dtype,
        state_chunk_tokens=decoder.state_chunk_tokens or text.optional_integer("mamba_chunk_size", minimum=1),
        draft_layers=draft_layers(text, outer) or decoder.unnamed_draft_layers,
        num_nextn_predict_layers=decoder.num_nextn_predict_layers,
        vision=decoder.vision,
        multimodal=decoder.multimodal,
        kv_quant_dtype=kv_quant_dtype(text, outer),
        provenance=provenance,
        source=source,
        caution=caution,
        extra=decoder.extra,
    )


def _reader(model_type: str, outer: ConfigKeys) -> FamilyReader:
    module = _READERS.get(model_type)
    if module is None:
        import difflib

        near = difflib.get_close_matches(model_type, _READERS, n=3)
        nearest = f"; near: {', '.join(near)}" if near else ""
        raise UnsupportedModelError(
            f"`model_type` is {model_type!r}, a family that is not known" if model_type else "no `model_type`",
            hint=f"`poolsplit models` lists the families that are read{nearest}",
            where=outer.where,
        )
    reader: FamilyReader = importlib.import_module(f"poolsplit.shapes.families.{module}")
    return reader


def _architecture(outer: ConfigKeys) -> str | None:
    listed = outer.sequence("architectures")
    if not listed:
        return None
    if not isinstance(listed[0], str):
        raise outer.wrong("architectures", listed, "a list of class names")
    return listed[0]
