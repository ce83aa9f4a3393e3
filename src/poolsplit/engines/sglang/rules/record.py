"""The resolved record of a launch, once every rule has run."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from poolsplit.engines.sglang.resolved import ResolvedFlags
from poolsplit.engines.sglang.rules import (
    attention,
    families,
    kv_dtype,
    launcher,
    layout,
    model,
    radix,
    speculation,
    state,
)

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_AS_ASKED = (
    "tp_size",
    "pp_size",
    "dcp_size",
    "attn_cp_size",
    "max_total_tokens",
    "enable_unified_memory",
    "max_mamba_cache_size",
    "enable_linear_replayssm",
    "enable_linear_replayssm_spec",
    "enable_int8_mamba_checkpoint",
    "enable_scattered_sconv",
    "enable_pd_role_switch",
)
"""Fields that no rule changes."""

_AS_SETTLED = {
    "attn_tp_size": "attn_tp_size",
    "attn_dp_size": "attn_dp_size",
    "context_len": "context_len",
    "mem_fraction_static": "mem_fraction_static",
    "max_running_requests": "max_running_requests",
    "chunked_prefill_size": "chunked_prefill_size",
    "max_prefill_tokens": "max_prefill_tokens",
    "disable_radix_cache": "disable_radix",
    "disable_overlap_schedule": "disable_overlap",
    "is_multimodal": "is_multimodal",
    "mamba_radix_cache_strategy": "strategy",
    "uses_mamba_radix_cache": "uses_state_radix",
    "enable_mamba_extra_buffer": "buffered",
    "mamba_ssm_dtype": "mamba_ssm_dtype",
    "prefill_attention_backend": "prefill_attention_backend",
    "decode_attention_backend": "decode_attention_backend",
    "draft_attention_backend": "draft_attention_backend",
    "speculative_algorithm": "speculation",
    "speculative_num_steps": "spec_steps",
    "speculative_eagle_topk": "spec_topk",
    "speculative_num_draft_tokens": "spec_draft_tokens",
    "disaggregation_mode": "role",
    "prefill_graph_backend": "prefill_graph",
    "prefill_graph_buckets": "prefill_graph_buckets",
    "decode_graph_max_bs": "decode_graph_max_bs",
}
"""Fields that hold what the rules left in an attribute of the launch."""

_asked = attrgetter(*_AS_ASKED)
_settled = attrgetter(*_AS_SETTLED.values())


def record(launch: Launch) -> ResolvedFlags:
    """The launch as the engine resolved it, with the launcher's second validation beside it."""
    refused = launcher.second_validation(launch)
    return ResolvedFlags(
        **dict(zip(_AS_ASKED, _asked(launch.flags), strict=True)),
        **dict(zip(_AS_SETTLED, _settled(launch), strict=True)),
        **_layout_fields(launch),
        **_pool_fields(launch),
        **_state_fields(launch),
        eagle_draft_layers=speculation.eagle_draft_layers(launch),
        dflash_draft_layers=speculation.dflash_draft_layers(launch),
        draft_context_limit=speculation.draft_context_limit(launch),
        launcher_reason=None if refused is None else refused.reason,
        launcher_message=None if refused is None else refused.message,
        warnings=tuple(launch.warnings),
        origins=tuple(launch.origins.items()),
    )


def _index_dtype(asked: str | None) -> str:
    return "bfloat16" if asked in (None, "auto") else asked


def _layout_fields(launch: Launch) -> dict[str, Any]:
    flags = launch.flags
    moved = launch.switches.attention_dp_moves and flags.enable_dp_attention
    return {
        "dp_size": 1 if moved else flags.dp_size,
        "enable_dp_attention": flags.enable_dp_attention and flags.dp_size > 1 and not moved,
        "pp_layer_partition": layout.layer_partition(launch),
        "decode_extra_slots": layout.decode_extra_slots(launch),
    }


def _pool_fields(launch: Launch) -> dict[str, Any]:
    swa_interval = launch.env.get("SGLANG_SWA_EVICTION_INTERVAL")
    return {
        "page_size": launch.page_size or 1,
        "attention_backend": launch.attention_backend or attention.default_backend(launch),
        "swa_full_tokens_ratio": families.DEFAULT_SWA_RATIO if launch.swa_ratio is None else launch.swa_ratio,
        "swa_eviction_interval": None if swa_interval is None else int(swa_interval),
        "mm_reservation_gib": model.reserve_multimodal_gib(launch),
        "kv_cache_dtype": kv_dtype.recorded_dtype(launch),
        "kv_dtype": kv_dtype.priced_dtype(launch),
        "draft_kv_dtype": kv_dtype.draft_priced_dtype(launch),
        "scaled_latent_rows": kv_dtype.scaled_latent_rows(launch),
        "native_fp4_layout": kv_dtype.native_fp4_layout(launch),
        "qsa_indexer_dtype": _index_dtype(launch.flags.qsa_indexer_dtype),
    }


def _state_fields(launch: Launch) -> dict[str, Any]:
    flags = launch.flags
    unlocked = launch.env_flag("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK")
    ssm_dtype, conv_dtype = state.state_dtypes(launch)
    return {
        "mamba_full_memory_ratio": families.DEFAULT_STATE_TO_KV_RATIO if launch.ratio is None else launch.ratio,
        "mamba_full_memory_ratio_source": _ratio_source(launch),
        "enable_mamba_extra_buffer_lazy": launch.buffered and launch.strategy == "extra_buffer_lazy",
        "skip_decode_lock": unlocked and launch.switches.honours_skip_decode_lock,
        "ssm_dtype": ssm_dtype,
        "conv_dtype": conv_dtype,
        "mamba_track_interval": radix.track_interval(launch),
        "linear_replayssm_cache_len": state.ring_length(launch),
        "linear_replayssm_cache_len_given": flags.linear_replayssm_cache_len is not None,
        "linear_attn_backend": flags.linear_attn_backend or "triton",
    }


def _ratio_source(launch: Launch) -> Literal["flag", "family", "default"]:
    if launch.ratio is None:
        return "default"
    return "family" if "mamba_full_memory_ratio" in launch.origins else "flag"
