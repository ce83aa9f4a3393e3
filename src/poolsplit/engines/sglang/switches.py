"""The rules that differ between releases, as one record of independent switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poolsplit.engines.sglang.release_lists import (
    MULTIMODAL_16,
    UNIFIED_VERIFY_19,
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Switches:
    """Every rule that some release between 0.5.16 and 0.5.23 has differently. Defaults are those of 0.5.16."""

    version: str

    # The state pool
    padding_slot: bool = False
    """One slot and one verify request more are charged."""
    charge_widest_stage: bool = False
    """Under pipeline parallelism a slot costs the widest stage's layers, not the whole model's."""
    honours_skip_decode_lock: bool = False
    replay_spec_priced: bool = False
    """Replay verification replaces the verify scratch and its rings are charged."""
    replay_gdn_fixed_ring: bool = False
    """GDN rings are a fixed term per running request; before, one per slot."""
    replay_gdn_new_bytes: bool = False
    """Bytes of a GDN ring: two copies of values and keys, one gate row."""
    replay_gdn_ring_is_cache_len: bool = False
    """The GDN ring is as long as the cache length; before, as the draft tokens."""
    replay_kda_families: frozenset[str] = frozenset()
    """Architectures with KDA layers whose replay ring is charged."""
    prices_extra_slot_bytes: bool = False
    prefill_skips_verify_scratch: bool = False
    states_of_own_drafts: frozenset[str] = frozenset()
    """Architectures whose draft layers are allocated among the states under speculation; they are never charged."""
    at_least_one_request_per_dp: bool = False
    """R // dp is floored at 1."""

    # The KV pool
    dcp_shrinks_heads: bool = False
    """KV heads per rank are counted over attention TP // DCP; before, over attention TP."""
    dflash_draft_kv: Literal["scaled", "scaled_dcp", "own"] = "scaled"
    draft_over_all_ranks: bool = True
    """The heads of a draft with rows of its own are shared by all tensor-parallel ranks; later, by attention's."""
    dflash_draft_over_context_ranks: bool = False
    """DFLASH drafts share their heads over context ranks too, without attention replicas."""
    draft_kv_added: bool = False
    """EAGLE drafts add int(cell * d / L); before, the cell becomes int(cell * (1 + d / L))."""
    handles_no_attention_stage: bool = False
    own_mtp_path_counts_one_layer: bool = False
    """Qwen3.5's own MTP layers, named as draft path, count 1 layer; before, all of the target's."""
    own_mtp_priced: bool = False
    """A launch without a draft path prices the target's own prediction layers."""
    index_keys_times_dcp: bool = False
    unified_records_bytes: bool = False
    fp4_by_recipe: bool = False
    reads_bailing_kda: bool = False
    """Bailing V3's recurrent layers are read as what they are; before, as lightning layers."""
    window_layers_by_stage: bool = False
    """Window and full layers of a model with both are counted per pipeline stage; before, over the whole model."""
    window_share_per_layer: bool = True
    """The window ratio multiplies the bytes of one layer before the layers: the last bit of the float row."""
    window_unified_search: Literal["never", "with_draft", "always"] = "never"
    """When the pools of a windowed model under unified memory are found by search and not by division."""
    window_draft_in_cap: bool = False
    """A capped window pool leaves room for a draft's own KV rows."""
    pp_refuses_mtp: bool = True
    """A model with MTP layers is refused under pipeline parallelism with speculation, inside the runner."""

    # The default memory fraction
    reserves_multimodal: bool = False
    small_card_doubled: bool = False
    """Cards of 20 to 35 GiB: prefill chunk 4096 and graph sizes 48 / 160; before 2048 and 24 / 80."""
    decode_graph_capped_at_requests: bool = False
    vision_factor_on_pd_decode: bool = True
    fraction_of_unknown_card: float = 0.88
    aiter_may_keep_fraction: bool = False
    """An environment variable keeps a given fraction whole under aiter attention."""
    deepep_prefill_graph_mib: int = 0

    # The default prefill graph
    prefill_graph_off_latent: bool = True
    prefill_graph_kept_sparse: bool = False
    """Sparse latent attention keeps the graph where dense latent attention loses it."""
    prefill_graph_off_for: frozenset[str] = frozenset()
    """Architectures that lose it."""
    prefill_graph_off_with_stages: bool = False
    prefill_graph_capped_with_stages: bool = False
    """A prefill graph asked for under pipeline stages takes at most 8192 tokens."""
    prefill_graph_off_with_dp: bool = True
    prefill_graph_off_with_two_batches: bool = False
    prefill_graph_off_with_any_a2a: bool = True
    """Any all-to-all and LoRA, not only the ones outside a list."""
    prefill_graph_multimodal: frozenset[str] = MULTIMODAL_16
    """Multimodal architectures that keep it."""
    prefill_graph_within_context: bool = True
    """Sizes are clamped to `--context-length`."""
    glm5_prefill_graph_tokens: int | None = None
    """Chunk and largest graph of GLM-5-Next when its prefill graph is asked for."""
    latent_prefill_graph_tokens: int = 2048
    latent_prefill_graph_within_chunk: bool = False

    # Arguments
    unreadable: frozenset[str] = frozenset()
    """Architectures whose configs the release cannot read."""
    outside_radix_lists: frozenset[str] = frozenset()
    """Architectures that this release neither keeps states of in the prefix cache nor lets buffer them."""
    inkling_in_radix_lists: bool = False
    without_family_rules: frozenset[str] = frozenset()
    """Architectures whose family overrides came later."""
    strategy_needs_state_model: bool = False
    """A buffered strategy named for a model without states is refused; before, ignored."""
    no_buffer_needs_page_one: bool = True
    lazy_refuses: Literal["named_draft_tokens", "dflash", "nothing"] = "named_draft_tokens"
    """Speculation that the lazy strategy refuses: any launch that names its draft tokens, DFLASH, none."""
    attention_dp_moves: bool = False
    """After resolution the size of attention data parallelism is a field of its own."""
    nemotron_paged: bool = False
    """Nemotron-H on SM100 pages its attention; before, flashinfer with pages of one token."""
    inkling_fa4_on_hopper: bool = False
    default_value_counts_as_unset: bool = True
    """A ratio given at its general default still yields to the family's."""
    kimi_k3_needs_kernel_folder: bool = False
    """On SM100 the default expert kernels of Kimi-K3 come from a folder that must be named."""
    kimi_kernel_defaults: bool = False
    """On SM100, Kimi keeps bfloat16 state on triton and pages the attention of DSPARK drafts."""
    dflash_counts_as_one_chain: bool = False
    dflash_runs_with_dp: bool = False
    lmcache_checked: bool = False
    """LMCache is refused with what its cache does not do yet."""
    dflash_draft_leaves_paged: bool = False
    """A draft that is neither causal nor windowed moves from trtllm_mha to fa4 (SM100) or flashinfer."""
    dspark_stages_on_prefill: bool = False
    decode_radix_algorithms: tuple[str, ...] = ()
    """Speculation that a decode server with a radix cache runs."""
    decode_radix_checked_with_role: bool = True
    """That check comes first, with the role; later, with speculation."""
    paged_prefill_checks: bool = False
    """Paged prefill runs beyond SM100, checked against fp8 KV on SM120 and against context parallelism."""
    nemotron_refuses_triton: bool = True
    paged_mha_counts_drafts: bool = False
    """A draft on trtllm_mha forces the page size too."""
    paged_mha_pages: tuple[int, ...] = (16, 32, 64)
    """Page sizes that trtllm_mha takes."""
    nemotron_refuses_context_ranks: bool = False
    dcp_refuses_speculation: bool = False
    writes_back_kv_dtype: bool = False
    """The KV dtype that a checkpoint declares replaces `auto` in the arguments."""
    stages_may_speculate: bool = False
    """The launcher's second validation lets some speculation through with pipeline stages."""
    nvfp4_chooses_backends: bool = False
    trtllm_mla_kv_dtypes: tuple[str, ...] = ("fp8_e4m3", "bf16", "auto")
    replay_decode_backends: tuple[str, ...] = ("triton",)
    replay_verify_backends: tuple[str, ...] = ("triton",)
    replay_verify_strict: bool = False
    unified_latent_backends: frozenset[str] = frozenset({"triton"})
    unified_dense_backends: frozenset[str] = frozenset({"triton"})
    unified_refuses_decode_graphs: bool = False
    """Paged attention captures no decode graph under unified memory."""
    unified_disables_prefill_graph: bool = False
    unified_disables_full_graph: bool = False
    unified_state_backends: frozenset[str] = frozenset({"triton"})
    """Decode kernels of recurrent layers that read the page layout."""
    unified_state_prefill: frozenset[str] = frozenset({"triton"})
    """Prefill kernels of recurrent layers that read it."""
    unified_checks_topk: bool = False
    """A draft tree is refused, also one that no algorithm would use."""
    unified_algorithms: tuple[str, ...] = ()
    unified_verify_latent: frozenset[str] = UNIFIED_VERIFY_19
    fused_draft_backends: frozenset[str] = frozenset()
    """Kernels on which a draft's rows may ride in the target's entries under unified memory."""
    unified_verify_dense: frozenset[str] = UNIFIED_VERIFY_19
    unified_dspark_backends: frozenset[str] = UNIFIED_VERIFY_19
    unified_on_roles: bool = False
    """Unified memory runs on prefill and decode servers."""
    unified_roles_refuse_speculation: bool = False
    unified_with_dcp: bool = False
    unified_with_host_cache: bool = False
    unified_needs_equal_widths: bool = False
    """K and V heads of one width."""

    warning: str | None = None
    """Set when the asked-for release is outside the table."""
