"""The order in which the engine resolves a launch, and the resolved record at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from poolsplit.engines.sglang.resolved import ResolvedFlags
from poolsplit.engines.sglang.rules import (
    attention,
    families,
    graphs,
    kv_dtype,
    launcher,
    layout,
    memory,
    model,
    notices,
    radix,
    speculation,
    state,
    unified,
)
from poolsplit.engines.sglang.rules.launch import Launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

_STEPS: tuple[Callable[[Launch], None], ...] = (
    speculation.check_context_parallel_speculation,
    model.read_model,
    layout.split_attention,
    layout.apply_role,
    speculation.check_role_speculation,
    graphs.choose_graphs,
    memory.apply_card_defaults,
    memory.set_memory_fraction,
    radix.settle_registry_strategy,
    families.apply_family,
    families.check_family,
    radix.settle_strategy,
    kv_dtype.choose_nvfp4_backends,
    attention.settle_backend,
    state.check_state_options,
    state.settle_linear_attention,
    kv_dtype.check_fp4,
    kv_dtype.check_mxfp8,
    attention.default_page_size,
    layout.divide_prefill_chunk,
    graphs.clamp_prefill_graph,
    layout.check_layout,
    layout.stages_end_overlap,
    speculation.settle_speculation,
    state.check_ring,
    layout.check_encoder_split,
    radix.check_caches,
    unified.check_page_layout,
    unified.check_unified,
    model.check_transport,
    notices.add_notices,
)
"""The engine's own order: a later rule sees what an earlier one declared, and the first refusal wins."""


def resolve_flags(
    shape: ModelShape, flags: Flags, device: Device, switches: Switches, draft: DraftShape | None = None
) -> ResolvedFlags:
    """Every argument that the start-up solver reads, after defaults, overrides and validation.

    Args:
        shape: The target model.
        flags: The launch as asked for; `flags.env` its environment.
        device: The card.
        switches: The rules of the release.
        draft: The draft checkpoint, when the launch names one.

    Raises:
        LaunchRefusedError: The engine refuses the launch before it sizes anything (stage `server_args`).
    """
    launch = Launch(shape, flags, device, switches, draft)
    for step in _STEPS:
        step(launch)
    return _record(launch)


def _ratio_source(launch: Launch) -> Literal["flag", "family", "default"]:
    if launch.ratio is None:
        return "default"
    return "flag" if launch.ratio == launch.flags.mamba_full_memory_ratio else "family"


def _record(launch: Launch) -> ResolvedFlags:
    flags, switches = launch.flags, launch.switches
    refused = launcher.second_validation(launch)
    ssm_dtype, conv_dtype = state.state_dtypes(launch)
    moved = switches.attention_dp_moves
    swa_interval = launch.env.get("SGLANG_SWA_EVICTION_INTERVAL")
    return ResolvedFlags(
        tp_size=flags.tp_size,
        pp_size=flags.pp_size,
        dp_size=1 if moved and flags.enable_dp_attention else flags.dp_size,
        enable_dp_attention=flags.enable_dp_attention and not moved,
        dcp_size=flags.dcp_size,
        attn_tp_size=launch.attn_tp_size,
        attn_dp_size=launch.attn_dp_size,
        attn_cp_size=flags.attn_cp_size,
        pp_layer_partition=layout.layer_partition(launch),
        context_len=launch.context_len,
        page_size=launch.page_size or 1,
        mem_fraction_static=launch.mem_fraction_static,
        max_running_requests=launch.max_running_requests,
        max_total_tokens=flags.max_total_tokens,
        chunked_prefill_size=launch.chunked_prefill_size,
        max_prefill_tokens=launch.max_prefill_tokens,
        swa_full_tokens_ratio=families.DEFAULT_SWA_RATIO if launch.swa_ratio is None else launch.swa_ratio,
        disable_radix_cache=launch.disable_radix,
        disable_overlap_schedule=launch.disable_overlap,
        enable_unified_memory=flags.enable_unified_memory,
        is_multimodal=launch.is_multimodal,
        mm_reservation_gib=model.reserve_multimodal_gib(launch),
        kv_cache_dtype=kv_dtype.recorded_dtype(launch),
        kv_dtype=kv_dtype.priced_dtype(launch),
        draft_kv_dtype=kv_dtype.draft_priced_dtype(launch),
        max_mamba_cache_size=flags.max_mamba_cache_size,
        mamba_full_memory_ratio=families.DEFAULT_STATE_TO_KV_RATIO if launch.ratio is None else launch.ratio,
        mamba_full_memory_ratio_source=_ratio_source(launch),
        mamba_radix_cache_strategy=launch.strategy,
        uses_mamba_radix_cache=launch.uses_state_radix,
        enable_mamba_extra_buffer=launch.buffered,
        enable_mamba_extra_buffer_lazy=launch.buffered and launch.strategy == "extra_buffer_lazy",
        skip_decode_lock=switches.honours_skip_decode_lock and launch.env_flag("SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK"),
        mamba_ssm_dtype=launch.mamba_ssm_dtype,
        ssm_dtype=ssm_dtype,
        conv_dtype=conv_dtype,
        mamba_track_interval=radix.track_interval(launch),
        enable_linear_replayssm=flags.enable_linear_replayssm,
        enable_linear_replayssm_spec=flags.enable_linear_replayssm_spec,
        linear_replayssm_cache_len=state.ring_length(launch),
        linear_replayssm_cache_len_given=flags.linear_replayssm_cache_len is not None,
        enable_int8_mamba_checkpoint=flags.enable_int8_mamba_checkpoint,
        enable_scattered_sconv=flags.enable_scattered_sconv,
        linear_attn_backend=flags.linear_attn_backend or "triton",
        attention_backend=launch.attention_backend or attention.default_backend(launch),
        prefill_attention_backend=launch.prefill_attention_backend,
        decode_attention_backend=launch.decode_attention_backend,
        speculative_algorithm=launch.speculation,
        speculative_num_steps=launch.spec_steps,
        speculative_eagle_topk=launch.spec_topk,
        speculative_num_draft_tokens=launch.spec_draft_tokens,
        eagle_draft_layers=speculation.eagle_draft_layers(launch),
        dflash_draft_layers=speculation.dflash_draft_layers(launch),
        draft_context_limit=speculation.draft_context_limit(launch),
        disaggregation_mode=launch.role,
        enable_pd_role_switch=flags.enable_pd_role_switch,
        prefill_graph_backend=launch.prefill_graph,
        prefill_graph_buckets=launch.prefill_graph_buckets,
        decode_graph_max_bs=launch.decode_graph_max_bs,
        scaled_latent_rows=kv_dtype.scaled_latent_rows(launch),
        native_fp4_layout=kv_dtype.native_fp4_layout(launch),
        qsa_indexer_dtype=flags.qsa_indexer_dtype or "bfloat16",
        draft_attention_backend=launch.draft_attention_backend,
        decode_extra_slots=layout.decode_extra_slots(launch),
        swa_eviction_interval=None if swa_interval is None else int(swa_interval),
        launcher_reason=None if refused is None else refused.reason,
        launcher_message=None if refused is None else refused.message,
        warnings=tuple(launch.warnings),
    )
