"""Facts that every family names under the same keys: context, dtypes, quantised KV, draft layers, vision tower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.model_shape import VisionTower

if TYPE_CHECKING:
    from poolsplit.shapes.families.keys import ConfigKeys

_CONTEXT_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_DTYPES = frozenset({"bfloat16", "float16", "float32"})
_DTYPE_ALIASES = {"bf16": "bfloat16", "half": "float16", "fp16": "float16", "float": "float32", "fp32": "float32"}
_KV_ALGORITHMS = {"FP8": "fp8_e4m3", "NVFP4": "nvfp4", "AUTO": None, "NONE": None}
_KV_FLOAT_BITS = {8: "fp8_e4m3", 4: "nvfp4"}
_TEXT_LEVELS = ("text_config", "llm_config")
_DRAFT_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


def text_level(outer: ConfigKeys) -> ConfigKeys:
    """The level that describes the decoder: a nested one where the file has it, else the file itself."""
    for level in _TEXT_LEVELS:
        found = outer.nested(level)
        if found is not None:
            return found
    return outer


def context_len(text: ConfigKeys, *, default: int | None) -> int | None:
    """Longest context of the config, stretched by a rope factor that is not already counted in it.

    Source: the order of keys and the factor are those of the engine's context length; held by the golden answers.
    """
    found = text.optional_integer(*_CONTEXT_KEYS, minimum=1)
    if found is None:
        return default
    rope = text.nested("rope_scaling") or text.nested("rope_parameters")
    if rope is None or "original_max_position_embeddings" in rope.values or rope.values.get("rope_type") == "llama3":
        return found
    return int(rope.number("factor") * found) if rope.has("factor") else found


def weight_dtype(text: ConfigKeys, outer: ConfigKeys) -> str:
    """Dtype of the weights; float32 when the config names none, which is what its config class then says."""
    for level in (text, outer):
        for key in ("dtype", "torch_dtype"):
            name = level.text(key)
            if name is not None:
                return _dtype(level, key, name)
    return "float32"


def state_dtypes(text: ConfigKeys, outer: ConfigKeys, *, read: bool) -> tuple[str | None, str | None]:
    """Dtype of the recurrent state that the config names: the one that is read, and the one that is not."""
    for level in (text, outer):
        name = level.text("mamba_ssm_dtype")
        if name is not None:
            dtype = _dtype(level, "mamba_ssm_dtype", name)
            return (dtype, None) if read else (None, dtype)
    name = text.text("mamba_ssm_cache_dtype")
    return None, None if name is None else _dtype(text, "mamba_ssm_cache_dtype", name)


def kv_quant_dtype(text: ConfigKeys, outer: ConfigKeys) -> str | None:
    """KV dtype that the checkpoint's quantisation config declares; None when it says nothing.

    Raises:
        UnsupportedModelError: A KV algorithm that is not known.
    """
    quant = outer.nested("quantization_config") or text.nested("quantization_config")
    if quant is None:
        return None
    quant = quant.nested("quantization") or quant
    scheme = quant.nested("kv_cache_scheme")
    if scheme is not None:
        return _KV_FLOAT_BITS.get(scheme.integer("num_bits")) if scheme.values.get("type") == "float" else None
    name = quant.text("kv_cache_quant_algo")
    if name is None:
        return None
    if name.upper() not in _KV_ALGORITHMS:
        raise quant.wrong("kv_cache_quant_algo", name, f"one of {', '.join(_KV_ALGORITHMS)}")
    return _KV_ALGORITHMS[name.upper()]


def draft_layers(text: ConfigKeys, outer: ConfigKeys) -> int:
    """Multi-token-prediction layers that the config names under any of its keys."""
    named = [text.optional_integer(key) or 0 for key in _DRAFT_KEYS]
    mtp = outer.nested("mtp_config")
    if mtp is not None:
        named.append(mtp.optional_integer("n_layers", "num_hidden_layers") or 0)
    return max(named)


def vision_tower(
    outer: ConfigKeys, *, layers: str = "num_hidden_layers", hidden: str = "hidden_size", default: VisionTower | None
) -> VisionTower | None:
    """The vision tower under `vision_config`, or the config class's default where the file has none."""
    found = outer.nested("vision_config")
    if found is None:
        return default
    absent = default or VisionTower(layers=None, hidden_size=None)
    return VisionTower(
        layers=found.optional_integer(layers) if found.has(layers) else absent.layers,
        hidden_size=found.optional_integer(hidden) if found.has(hidden) else absent.hidden_size,
    )


def _dtype(level: ConfigKeys, key: str, name: str) -> str:
    plain = name.removeprefix("torch.")
    plain = _DTYPE_ALIASES.get(plain, plain)
    if plain not in _DTYPES:
        raise UnsupportedModelError(
            f"`{level.path}{key}` is {name!r}, a dtype that is not known",
            hint=f"known dtypes: {', '.join(sorted(_DTYPES))}",
            where=level.where,
        )
    return plain
