"""Levers of the bytes that both pools share, and of the bytes of a slot and a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.engines.engine import Lever
from poolsplit.shapes.model_shape import KimiDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.shapes.model_shape import ModelShape


_SM100 = 10
KEPT_FREE_GIB = 5.0
"""What a running server should keep free beyond its pools and graphs; below that, prefill peaks run out."""
_BLIND_STEP = 0.02


def memory_levers(flags: Flags, resolved: ResolvedFlags, idle_fraction: float | None) -> Iterator[Lever]:
    """The fraction of the card that weights and pools may take."""
    if flags.mem_fraction_static is not None:
        yield Lever(
            name="default_memory_fraction",
            changes={"mem_fraction_static": None},
            risk="the engine's own fraction for this card: room for activations and graphs",
        )
    step = _BLIND_STEP if idle_fraction is None else idle_fraction
    fraction = resolved.mem_fraction_static
    wanted = int(min(0.98, fraction + step) * 1000) / 1000
    measured = f"by what the log shows idle, less {KEPT_FREE_GIB:g} GiB"
    if wanted > fraction or (idle_fraction is not None and wanted < fraction):
        yield Lever(
            name="memory_fraction",
            changes={"mem_fraction_static": wanted},
            risk="stability: the slack holds activations, graphs and every unreserved buffer; "
            + ("raise it only by what stays idle after start-up" if idle_fraction is None else measured),
        )


def state_dtype_levers(shape: ModelShape, resolved: ResolvedFlags, device: Device) -> Iterator[Lever]:
    """Recurrent states of half the bytes."""
    if resolved.ssm_dtype != "float32":
        return
    changes: dict[str, Any] = {"mamba_ssm_dtype": "bfloat16"}
    risk = "accuracy: the recurrent state is rounded at every step"
    if device.compute_capability[0] >= _SM100:
        changes["linear_attn_decode_backend"] = "triton"
    if isinstance(shape.state, KimiDelta) and resolved.speculative_algorithm is not None:
        risk += "; speed: the fused verify kernel takes float32 only"
    yield Lever(name="state_bf16", changes=changes, risk=risk)


def kv_dtype_levers(resolved: ResolvedFlags) -> Iterator[Lever]:
    """KV rows of fewer bits."""
    if resolved.kv_dtype in {"bfloat16", "float16", "float32"}:
        yield Lever(
            name="kv_fp8",
            changes={"kv_cache_dtype": "fp8_e4m3"},
            risk="accuracy: 8-bit keys and values, without scales where the checkpoint has none",
        )
    if resolved.kv_dtype != "nvfp4":
        yield Lever(
            name="kv_fp4",
            changes={"kv_cache_dtype": "nvfp4"},
            risk="accuracy: 4-bit keys and values; platform: SM100 or SM120",
        )


def pool_levers(resolved: ResolvedFlags) -> Iterator[Lever]:
    """Caps, pages and one buffer for both pools."""
    if resolved.max_running_requests is not None:
        yield Lever(
            name="request_cap",
            changes={"max_running_requests": None},
            risk="speed: more requests share each step; the graphs must cover the larger batch",
            raises_cap=True,
        )
    if resolved.max_total_tokens is not None:
        yield Lever(name="token_cap_off", changes={"max_total_tokens": None}, risk="none: the cap frees nothing else")
    page = 1 if resolved.page_size > 1 else 64
    yield Lever(
        name="page_size",
        changes={"page_size": page},
        risk="speed: small pages cost lookups" if page == 1 else "memory: each request wastes up to a page",
    )
    if not resolved.enable_unified_memory:
        yield Lever(
            name="unified_memory",
            changes={"enable_unified_memory": True},
            risk="the start-up figures become labels: both kinds share one buffer, and bytes end before slots do",
        )
