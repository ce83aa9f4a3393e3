"""What a launch asks for: the engine's flags that reach memory, unset ones as None.

Asked-for and resolved are two types: `Flags` here, `ResolvedFlags` in `resolved`. Field names are the engine's own,
with underscores. Flags that do not reach memory are not here; `command` keeps them as text.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from poolsplit.engines.sglang.flag_sense import check_env, check_values
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NO_ENV: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """One launch as it was asked for. None and False mean that the flag was not given."""

    # Parallel layout
    tp_size: int = 1
    pp_size: int = 1
    dp_size: int = 1
    attn_dp_size: int = 1
    """Attention replicas under the newer spelling; the older one is `dp_size` with `enable_dp_attention`."""
    ep_size: int = 1
    dcp_size: int = 1
    attn_cp_size: int = 1
    nnodes: int = 1
    enable_dp_attention: bool = False
    enable_dp_lm_head: bool = False
    moe_a2a_backend: str | None = None
    moe_runner_backend: str | None = None
    enable_two_batch_overlap: bool = False
    enable_prefill_cp: bool = False

    # Model
    context_length: int | None = None
    dtype: str | None = None
    quantization: str | None = None
    language_model_only: bool = False
    language_only: bool = False
    encoder_only: bool = False
    enable_multimodal: bool | None = None
    mm_feature_transport: str | None = None
    enable_lora: bool = False
    json_model_override_args: str | None = None

    # The two pools
    mem_fraction_static: float | None = None
    max_running_requests: int | None = None
    max_total_tokens: int | None = None
    max_prefill_tokens: int | None = None
    chunked_prefill_size: int | None = None
    prefill_max_requests: int | None = None
    page_size: int | None = None
    kv_cache_dtype: str | None = None
    swa_full_tokens_ratio: float | None = None
    disable_hybrid_swa_memory: bool = False
    disable_radix_cache: bool = False
    disable_overlap_schedule: bool = False
    pp_max_micro_batch_size: int | None = None
    enable_unified_memory: bool = False
    enable_page_major_kv_layout: bool = False
    enable_kv_cache_sharding: bool = False
    enable_hisparse: bool = False
    enable_deterministic_inference: bool = False
    enable_hierarchical_cache: bool = False
    enable_lmcache: bool = False
    radix_cache_backend: str | None = None

    # Recurrent state
    max_mamba_cache_size: int | None = None
    mamba_full_memory_ratio: float | None = None
    mamba_radix_cache_strategy: str | None = None
    mamba_ssm_dtype: str | None = None
    mamba_track_interval: int | None = None
    mamba_max_states_per_path: int | None = None
    mamba_backend: str | None = None
    linear_attn_backend: str | None = None
    linear_attn_decode_backend: str | None = None
    linear_attn_prefill_backend: str | None = None
    linear_attn_verify_backend: str | None = None
    enable_linear_replayssm: bool = False
    enable_linear_replayssm_spec: bool = False
    enable_gdn_replayssm_spec: bool = False
    linear_replayssm_cache_len: int | None = None
    enable_int8_mamba_checkpoint: bool = False
    int8_mamba_ckpt_size: int | None = None
    enable_mamba_cache_stochastic_rounding: bool = False
    enable_scattered_sconv: bool = False

    # Attention
    attention_backend: str | None = None
    prefill_attention_backend: str | None = None
    decode_attention_backend: str | None = None
    dsa_prefill_backend: str | None = None
    dsa_decode_backend: str | None = None
    qsa_indexer_dtype: str | None = None

    # Speculation
    speculative_algorithm: str | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    speculative_num_draft_tokens: int | None = None
    speculative_dflash_block_size: int | None = None
    speculative_dspark_block_size: int | None = None
    speculative_draft_attention_backend: str | None = None
    speculative_draft_kv_cache_dtype: str | None = None
    speculative_adaptive: bool = False
    speculative_ngram_max_bfs_breadth: int | None = None

    # Prefill and decode on different servers
    disaggregation_mode: str | None = None
    disaggregation_decode_enable_radix_cache: bool = False
    disaggregation_decode_extra_slots: int | None = None
    enable_pd_role_switch: bool = False

    # Graphs
    disable_cuda_graph: bool = False
    disable_decode_cuda_graph: bool = False
    disable_prefill_cuda_graph: bool = False
    cuda_graph_max_bs_decode: int | None = None
    cuda_graph_max_bs_prefill: int | None = None
    cuda_graph_backend_decode: str | None = None
    cuda_graph_backend_prefill: str | None = None
    cuda_graph_bs_decode: Sequence[int] | None = None
    cuda_graph_bs_prefill: Sequence[int] | None = None
    cuda_graph_config: str | None = None

    env: Mapping[str, str] = field(default_factory=lambda: _NO_ENV)
    """Environment variables of the launch; only those that the engine reads for memory matter."""


_KINDS = {field.name: str(field.type) for field in fields(Flags) if field.name != "env"}
FLAG_NAMES = frozenset(each.name for each in fields(Flags)) - {"env"}


def flags_from_mapping(args: Mapping[str, Any], env: Mapping[str, str] | None = None) -> Flags:
    """Flags of a decoded launch: the engine's names with underscores to their values.

    Raises:
        UsageError: A flag that is not one of those that reach memory, or a value that cannot be meant.
    """
    check_values(args, _KINDS)
    if env:
        check_env(env)
    try:
        return Flags(**args, env=env or _NO_ENV)
    except TypeError:
        unknown = sorted(set(args) - FLAG_NAMES)
        raise UsageError(
            f"`{unknown[0] if unknown else 'env'}` is not a flag that reaches memory",
            hint="leave it out of the flags, or check its spelling",
        ) from None
