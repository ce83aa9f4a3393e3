"""What could be changed about a launch besides the split, as data: flags and what they cost.

Nothing is priced or judged here: every lever is solved again in full by `planning.levers`, and one that the engine
refuses is shown as refused with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.engines.engine import Lever
from poolsplit.engines.sglang.faults import faults_of
from poolsplit.engines.sglang.partition import balanced_partition
from poolsplit.shapes.model_shape import GatedDeltaNet, KimiDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.shapes.model_shape import ModelShape

_SM100 = 10
_NO_SPECULATION: dict[str, Any] = {
    "speculative_algorithm": None,
    "speculative_num_steps": None,
    "speculative_eagle_topk": None,
    "speculative_num_draft_tokens": None,
    "enable_linear_replayssm_spec": None,
}


KEPT_FREE_GIB = 5.0
"""What a running server should keep free beyond its pools and graphs; below that, prefill peaks run out."""
_BLIND_STEP = 0.02


def levers_of(
    shape: ModelShape,
    flags: Flags,
    resolved: ResolvedFlags,
    device: Device,
    release: str,
    idle_fraction: float | None = None,
) -> tuple[Lever, ...]:
    """Every lever that means a change for this launch, with what is known against it in this release.

    Args:
        shape: The target model.
        flags: The launch as asked for.
        resolved: The same after argument resolution.
        device: The card.
        release: Whose faults to mind.
        idle_fraction: Share of the card that stayed idle after a start, beyond what should stay free; None where no
            log tells.
    """
    return (
        *_memory(flags, resolved, idle_fraction),
        *_strategy(resolved, release),
        *_state_dtype(shape, resolved, device),
        *_kv_dtype(resolved),
        *_speculation(shape, resolved),
        *_replay(shape, resolved),
        *_parallel(shape, flags, resolved),
        *_pools(flags, resolved),
        *_checkpoints(resolved),
    )


def _memory(flags: Flags, resolved: ResolvedFlags, idle_fraction: float | None) -> Iterator[Lever]:
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


def _strategy(resolved: ResolvedFlags, release: str) -> Iterator[Lever]:
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
    elif overlap or strategy == "no_buffer":
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


def _with_faults(risk: str, topic: str, release: str) -> str:
    known = faults_of(topic, release)
    return f"{risk}; {known}" if known else risk


def _state_dtype(shape: ModelShape, resolved: ResolvedFlags, device: Device) -> Iterator[Lever]:
    if resolved.ssm_dtype != "float32":
        return
    changes: dict[str, Any] = {"mamba_ssm_dtype": "bfloat16"}
    risk = "accuracy: the recurrent state is rounded at every step"
    if device.compute_capability[0] >= _SM100:
        changes["linear_attn_decode_backend"] = "triton"
    if isinstance(shape.state, KimiDelta) and resolved.speculative_algorithm is not None:
        risk += "; speed: the fused verify kernel takes float32 only"
    yield Lever(name="state_bf16", changes=changes, risk=risk)


def _kv_dtype(resolved: ResolvedFlags) -> Iterator[Lever]:
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


def _speculation(shape: ModelShape, resolved: ResolvedFlags) -> Iterator[Lever]:
    if resolved.speculative_algorithm is None:
        return
    yield Lever(name="speculation_off", changes=_NO_SPECULATION, risk="speed: one token a step")
    drafts = resolved.speculative_num_draft_tokens or 0
    if drafts > 2 and resolved.speculative_algorithm in {"EAGLE", "EAGLE3", "NEXTN"}:  # noqa: PLR2004 -- the least
        fewer = max(2, drafts // 2)
        yield Lever(
            name="fewer_draft_tokens",
            changes={
                "speculative_num_draft_tokens": fewer,
                "speculative_num_steps": fewer - 1,
                "speculative_eagle_topk": 1,
            },
            risk="speed: shorter drafts",
        )
    if not resolved.eagle_draft_layers and shape.draft_layers:
        yield Lever(
            name="own_draft_path",
            changes={"speculative_draft_model_path": shape.name},
            risk="memory: the draft's KV rows, allocated all the same, are now reserved",
        )


def _replay(shape: ModelShape, resolved: ResolvedFlags) -> Iterator[Lever]:
    if not isinstance(shape.state, GatedDeltaNet | KimiDelta):
        return
    if resolved.speculative_algorithm is not None and not resolved.enable_linear_replayssm_spec:
        yield Lever(
            name="replay_verify",
            changes={"enable_linear_replayssm_spec": True},
            risk="speed: states are rebuilt from a ring; memory: its convolution windows are not reserved",
        )
    if not resolved.enable_linear_replayssm and resolved.speculative_algorithm is None:
        yield Lever(
            name="replay_decode",
            changes={
                "enable_linear_replayssm": True,
                "mamba_radix_cache_strategy": "no_buffer",
                "disable_overlap_schedule": True,
            },
            risk="reuse can go to 0: it forces no_buffer; memory: its rings are not reserved",
        )


def _parallel(shape: ModelShape, flags: Flags, resolved: ResolvedFlags) -> Iterator[Lever]:
    if flags.tp_size > 1 and resolved.attn_dp_size == 1 and resolved.dcp_size == 1:
        yield Lever(
            name="attention_dp",
            changes={"enable_dp_attention": True, "dp_size": flags.tp_size},
            risk="weights: every rank keeps the attention weights whole, which is not priced; each replica has its own "
            "cache, so a prefix is reused only where it went before",
        )
    elif resolved.attn_dp_size > 1:
        yield Lever(
            name="attention_tp",
            changes={"enable_dp_attention": None, "dp_size": None},
            risk="speed: attention heads are split again; one cache for all",
        )
    if resolved.dcp_size == 1 and flags.tp_size > 1 and shape.is_latent:
        yield Lever(
            name="context_parallel",
            changes={"dcp_size": flags.tp_size},
            risk="speed: one more exchange a layer; platform: backends that take it",
        )
    if flags.pp_size > 1:
        partition = balanced_partition(shape, flags.pp_size)
        if partition is not None and partition != resolved.pp_layer_partition:
            yield Lever(
                name="stage_partition",
                changes={"SGLANG_PP_LAYER_PARTITION": ",".join(map(str, partition))},
                risk="speed: stages of unequal length; weights a stage move with its layers, which is not priced",
            )


def _pools(flags: Flags, resolved: ResolvedFlags) -> Iterator[Lever]:
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
    del flags


def _checkpoints(resolved: ResolvedFlags) -> Iterator[Lever]:
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
