"""Launches for tests: a plain resolved launch with some arguments changed, and small shapes."""

from dataclasses import replace

from poolsplit.engines.device import Device
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.flags import flags_from_mapping
from poolsplit.engines.sglang.resolved import ResolvedFlags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_model
from poolsplit.shapes.model_shape import FullAttention, GatedDeltaNet, LatentAttention, ModelShape

H200 = Device(name="h200", memory_mib=143771, compute_capability=(9, 0))
B200 = Device(name="b200", memory_mib=183359, compute_capability=(10, 0))
LATEST = switches_for("0.5.23")
FIRST = switches_for("0.5.16")


def gdn_shape(*, layers: int = 8, attention: FullAttention | LatentAttention | None = None) -> ModelShape:
    """Every fourth layer attends, the others are gated delta-rule layers."""
    kv = tuple(number for number in range(layers) if number % 4 == 3)
    return ModelShape(
        name="small",
        architecture="Qwen3NextForCausalLM",
        model_type="qwen3_next",
        family="qwen3_next",
        layers=layers,
        state=GatedDeltaNet(key_heads=4, value_heads=8, key_head_dim=128, value_head_dim=128, conv_kernel=4),
        state_layer_ids=tuple(number for number in range(layers) if number not in kv),
        attention=attention or FullAttention(kv_heads=2, head_dim=256, v_head_dim=256),
        kv_layer_ids=kv,
        context_len=262144,
        dtype="bfloat16",
    )


def resolved(shape: ModelShape | None = None, *, release: str = "0.5.23", **changes: object) -> ResolvedFlags:
    """A resolved launch of the shape with these resolved arguments set."""
    base = resolve_flags(
        shape or gdn_shape(), flags_from_mapping({"mem_fraction_static": 0.9}), H200, switches_for(release)
    )
    return replace(base, **changes)


def launch(model: str, *, release: str = "0.5.23", device: Device = H200, **args: object):
    """Shape and resolved launch of an embedded model."""
    shape = find_model(model).shape
    return shape, resolve_flags(shape, flags_from_mapping(args), device, switches_for(release))


def published_glm():
    """Shape, resolved launch and pools of a start whose log was published."""
    shape, flags = launch(
        "zai-org/GLM-5.3-Flash",
        device=B200,
        tp_size=2,
        kv_cache_dtype="fp8_e4m3",
        page_size=64,
        mamba_full_memory_ratio=0.9,
        mem_fraction_static=1.0,
    )
    return shape, flags, solve(shape, flags, memory(62.54515625, 62.54515625), LATEST)


def memory(before: float, after: float | tuple[float, ...], **changes: object) -> FreeMemory:
    """Free memory in GiB."""
    return FreeMemory(before_gib=before, after_gib=after if isinstance(after, tuple) else (after,), **changes)
