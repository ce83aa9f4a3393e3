"""Levers of what is kept for reuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.engine import Lever
from poolsplit.engines.sglang.faults import faults_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.sglang.resolved import ResolvedFlags


def strategy_levers(resolved: ResolvedFlags, release: str) -> Iterator[Lever]:
    """Where checkpoints come from, and whether prefixes are kept at all."""
    strategy, overlap = resolved.mamba_radix_cache_strategy, not resolved.disable_overlap_schedule
    if resolved.disable_radix_cache:
        yield Lever(
            name="prefix_cache_on",
            changes={"disable_radix_cache": None},
            risk="memory: a running request takes more slots; prefixes are reused",
        )
        return
    if strategy != "extra_buffer_lazy":
        yield Lever(
            name="lazy_buffer",
            changes={"mamba_radix_cache_strategy": "extra_buffer_lazy"},
            risk=_with_faults(
                "speed: the second tracking slot is taken when it is needed", "extra_buffer_lazy", release
            ),
            needs_spare=True,
        )
    if strategy != "no_buffer":
        yield Lever(
            name="no_buffer",
            changes={"mamba_radix_cache_strategy": "no_buffer", "disable_overlap_schedule": True},
            risk="speed: no overlap scheduling; reuse only at chunk ends",
        )
    else:
        yield Lever(
            name="extra_buffer",
            changes={"mamba_radix_cache_strategy": "extra_buffer", "disable_overlap_schedule": None},
            risk="memory: more slots a request; overlap scheduling and finer reuse",
        )
    if overlap:
        yield Lever(
            name="overlap_off",
            changes={"disable_overlap_schedule": True, "mamba_radix_cache_strategy": "extra_buffer"},
            risk="speed: scheduling no longer hides behind the forward pass",
        )
    if not resolved.skip_decode_lock and resolved.enable_mamba_extra_buffer:
        yield Lever(
            name="skip_decode_lock",
            changes={"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"},
            risk="stability: exactly S x R slots crash, so one is kept spare; reuse: the matched state may be evicted",
            needs_spare=True,
        )
    yield Lever(
        name="prefix_cache_off",
        changes={"disable_radix_cache": True},
        risk="reuse: every prompt is computed in full",
    )


def checkpoint_levers(resolved: ResolvedFlags) -> Iterator[Lever]:
    """Fewer or smaller checkpoints."""
    if resolved.disable_radix_cache:
        return
    if resolved.chunked_prefill_size > 0:
        whole = resolved.chunked_prefill_size * resolved.attn_dp_size
        yield Lever(
            name="larger_prefill_chunk",
            changes={"chunked_prefill_size": 2 * whole},
            risk="memory: activations grow; reuse: half as many checkpoints a prompt, so sessions keep longer",
        )
    if resolved.enable_mamba_extra_buffer:
        yield Lever(
            name="longer_track_interval",
            changes={"mamba_track_interval": 2 * resolved.mamba_track_interval},
            risk="reuse: half as many checkpoints while decoding",
        )
    yield Lever(
        name="states_per_path",
        changes={"mamba_max_states_per_path": 2},
        risk="reuse: late forks of a conversation start from an earlier state; a soft limit",
    )
    if not resolved.enable_int8_mamba_checkpoint:
        yield Lever(
            name="int8_checkpoints",
            changes={"enable_int8_mamba_checkpoint": True},
            risk="memory: a second pool of twice the slots, never reserved; accuracy: cached states in eight bits",
        )


def _with_faults(risk: str, topic: str, release: str) -> str:
    known = faults_of(topic, release)
    return f"{risk}; {known}" if known else risk
