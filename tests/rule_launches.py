"""Launches for the suites that resolve arguments: models of the committed golden cases, cards by name."""

import gzip
import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from poolsplit.engines.device import Device
from poolsplit.engines.sglang.flags import flags_from_mapping
from poolsplit.engines.sglang.resolved import ResolvedFlags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.shapes.families import read_model_shape
from poolsplit.shapes.families.draft import read_draft_shape
from poolsplit.shapes.model_shape import DraftShape, ModelShape
from support import GOLDEN

CARDS = {
    "a100": ((8, 0), 81920),
    "h100": ((9, 0), 81559),
    "h200": ((9, 0), 143771),
    "b200": ((10, 0), 183359),
    "b300": ((10, 3), 275040),
    "rtx4090": ((8, 9), 24564),
    "rtx5090": ((12, 0), 32607),
}
DFLASH_DRAFT = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "block_size": 8,
    "head_dim": 128,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_hidden_layers": 5,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
DSPARK_DRAFT = {**DFLASH_DRAFT, "architectures": ["Qwen3DSparkModel"], "block_size": 7}
EAGLE = {
    "speculative_algorithm": "EAGLE",
    "speculative_num_steps": 3,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": 4,
}


@lru_cache
def configs() -> dict[str, Any]:
    """Model configs by name."""
    found: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / "resolve_models.json.gz").read_bytes()))
    return found


@lru_cache
def shape_of(name: str) -> ModelShape:
    """One model's shape; what its checkpoint declares of KV is left out, as in the golden cases."""
    return replace(read_model_shape(configs()[name], name=name), kv_quant_dtype=None)


def device_of(name: str, memory_mib: int | None = None) -> Device:
    """One card by name."""
    capability, size = CARDS[name]
    return Device(name=name, memory_mib=memory_mib or size, compute_capability=capability)


def draft_of(draft: str | dict[str, Any] | None) -> DraftShape | None:
    """A draft by the name of its model, or from its config."""
    if draft is None:
        return None
    return read_draft_shape(configs()[draft] if isinstance(draft, str) else draft, name="draft")


def resolved(
    model: str = "qwen3-next-80b-a3b",
    card: str = "h200",
    *,
    version: str = "0.5.23",
    draft: str | dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
    **flags: Any,
) -> ResolvedFlags:
    """One launch, resolved."""
    return resolve_flags(
        shape_of(model), flags_from_mapping(flags, env), device_of(card), switches_for(version), draft_of(draft)
    )
