"""What the engine makes of a launch: every argument that its start-up solver reads, after defaults and overrides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["null", "prefill", "decode"]
Strategy = Literal["auto", "no_buffer", "extra_buffer", "extra_buffer_lazy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFlags:
    """One launch as the engine resolved it. Built by `rules.resolve_flags` only."""

    # Parallel layout
    tp_size: int
    pp_size: int
    dp_size: int
    """Data-parallel size that `dp_size` holds after resolution (1 from the release that moves it)."""
    enable_dp_attention: bool
    dcp_size: int
    attn_tp_size: int
    """Ranks that share the heads of one attention replica: tp // attn_dp // attn_cp."""
    attn_dp_size: int
    """Attention replicas; 1 without attention data parallelism."""
    attn_cp_size: int
    pp_layer_partition: tuple[int, ...] | None
    """Layers per stage from the environment, as given; whether its sum fits is the solver's to check."""

    # The two pools
    context_len: int
    page_size: int
    mem_fraction_static: float
    max_running_requests: int | None
    max_total_tokens: int | None
    chunked_prefill_size: int
    max_prefill_tokens: int
    swa_full_tokens_ratio: float
    disable_radix_cache: bool
    disable_overlap_schedule: bool
    enable_unified_memory: bool
    is_multimodal: bool
    mm_reservation_gib: float
    """Kept back for multimodal buffers before the split, in GiB."""

    # KV rows
    kv_cache_dtype: str
    """The name after resolution; `auto` when the model's own dtype decides."""
    kv_dtype: str
    """Dtype that a row is priced at: bfloat16, float16, float32, fp8_e4m3, fp8_e5m2, mxfp8, nvfp4 ..."""
    draft_kv_dtype: str | None
    """The same for a draft with its own KV rows (DFLASH and DSPARK); None without one."""

    # Recurrent state
    max_mamba_cache_size: int | None
    mamba_full_memory_ratio: float
    """State to KV; 0.9 when neither the launch nor the model family sets it."""
    mamba_full_memory_ratio_source: Literal["flag", "family", "default"]
    mamba_radix_cache_strategy: Strategy
    uses_mamba_radix_cache: bool
    enable_mamba_extra_buffer: bool
    """Whether tracking slots exist: a buffered strategy (the lazy one too) under a radix cache."""
    enable_mamba_extra_buffer_lazy: bool
    skip_decode_lock: bool
    """The matched state is not locked while decoding; False where the release ignores the option."""
    mamba_ssm_dtype: str | None
    """The flag after resolution; the environment and the config may still decide when it is None."""
    ssm_dtype: str
    """Dtype of the recurrent state after flag, environment and config: float32, bfloat16, float16."""
    conv_dtype: str
    """Dtype of the convolution windows."""
    mamba_track_interval: int
    enable_linear_replayssm: bool
    enable_linear_replayssm_spec: bool
    linear_replayssm_cache_len: int
    linear_replayssm_cache_len_given: bool
    enable_int8_mamba_checkpoint: bool
    enable_scattered_sconv: bool
    linear_attn_backend: str

    # Attention
    attention_backend: str
    prefill_attention_backend: str | None
    decode_attention_backend: str | None

    # Speculation
    speculative_algorithm: str | None
    speculative_num_steps: int | None
    speculative_eagle_topk: int | None
    speculative_num_draft_tokens: int | None
    eagle_draft_layers: int | None
    """Draft layers whose KV rides on the target's rows (EAGLE, NEXTN, STANDALONE); None adds nothing."""
    dflash_draft_layers: int | None
    """Draft layers with KV rows of their own geometry (DFLASH, DSPARK)."""

    draft_context_limit: int | None = None
    """Longest context of the draft, where the launch asks for more: the runner refuses it before it sizes anything."""

    # Roles and graphs
    disaggregation_mode: Role
    enable_pd_role_switch: bool
    prefill_graph_backend: str
    prefill_graph_buckets: int
    decode_graph_max_bs: int

    # What only some rows and pools read
    scaled_latent_rows: bool = False
    """Sparse latent rows in FP8 keep block scales; the raw layouts of trtllm and of tilelang in both phases do not."""
    native_fp4_layout: bool = False
    """FP4 block scales are also kept in the layout of the SM100 kernels."""
    qsa_indexer_dtype: str = "bfloat16"
    """Dtype of the compressed index keys beside full attention."""
    draft_attention_backend: str | None = None
    """Attention backend of the draft worker; None when it runs on the target's."""
    decode_extra_slots: int = 0
    """Request slots that a decode server keeps for requests in transfer."""

    # What else is to be said
    swa_eviction_interval: int | None = None
    """From the environment; None leaves the engine's default."""
    launcher_reason: str | None = None
    """Reason id of the launcher's second validation; it refuses what the solver still answers."""
    launcher_message: str | None = None
    """The same refusal in words."""
    warnings: tuple[str, ...] = ()
    origins: tuple[tuple[str, str], ...] = ()
    """Arguments that a rule set or replaced, by name, each with the rule."""

    def origin(self, name: str) -> str | None:
        """The rule that set an argument; None when it stands as asked, or at its general default."""
        return dict(self.origins).get(name)
