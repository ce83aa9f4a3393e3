"""What differs between releases of the engine: one table of independent switches.

`switches_for("0.5.19")` gives every rule of a release at once; no other module compares version numbers.
Source: the per-release table of the start-up solver, seen by running each wheel; held by the golden answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from poolsplit.errors import InputError

DEFAULT_VERSION = "0.5.23"

_KDA_WITH_BAILING = frozenset(
    {
        "KimiLinearForCausalLM",
        "KimiK3ForConditionalGeneration",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
    }
)

_MULTIMODAL_16 = frozenset(
    {
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "InternS2MobiusForConditionalGeneration",
    }
)
_MULTIMODAL_18 = _MULTIMODAL_16 | {"KimiK3ForConditionalGeneration"}
_MULTIMODAL_20 = _MULTIMODAL_18 | {"Glm5NextForConditionalGeneration"}
_MULTIMODAL_22 = _MULTIMODAL_20 | {"Qwen4ExpForConditionalGeneration"}
_KDA_BY_CONFIG = frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"})
_UNIFIED_LATENT = frozenset({"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "flashmla"})
_UNIFIED_DENSE = frozenset({"triton", "fa3", "fa4", "flashinfer", "trtllm_mha"})
_UNIFIED_VERIFY_19 = frozenset({"triton", "trtllm_mla", "cutedsl_mla"})
_UNIFIED_VERIFY_LATENT = frozenset({"triton", "trtllm_mla", "cutedsl_mla", "flashmla", "flashinfer", "fa3"})
_UNLISTED_21 = frozenset({"MiniCPMV4_7ForConditionalGeneration"})
_UNLISTED_20 = _UNLISTED_21 | {"BailingMoeV3VLForConditionalGeneration"}
_UNLISTED_19 = _UNLISTED_20 | {
    "Glm5NextForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
    "Qwen4ExpForConditionalGeneration",
}
_UNLISTED_18 = _UNLISTED_19 | {"BailingMoeV3ForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"}
_UNLISTED_17 = _UNLISTED_18 | {"InternS2MobiusForConditionalGeneration"}
_UNLISTED_16 = _UNLISTED_17 | {"KimiK3ForConditionalGeneration", "Lfm2MoeForCausalLM"}
_UNREADABLE_20 = frozenset({"GigaChat35ForCausalLM"})
_UNREADABLE_19 = _UNREADABLE_20 | {
    "Glm5NextForConditionalGeneration",
    "MambaForCausalLM",
    "FalconMambaForCausalLM",
    "Mamba2ForCausalLM",
}
_UNREADABLE_18 = _UNREADABLE_19 | {"MiniCPMSALAForCausalLM"}
_UNREADABLE_16 = _UNREADABLE_18 | {"KimiK3ForConditionalGeneration"}
_NEMOTRON_H = frozenset({"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Omni_Reasoning_V3"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """Every rule that some release between 0.5.16 and 0.5.23 has differently. Defaults are those of 0.5.16."""

    version: str

    # The state pool
    padding_slot: bool = False
    """One slot and one verify request more are charged."""
    charge_widest_stage: bool = False
    """Under pipeline parallelism a slot costs the widest stage's layers, not the whole model's."""
    honours_skip_decode_lock: bool = False
    warns_state_cap: bool = False
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
    at_least_one_request_per_dp: bool = False
    """R // dp is floored at 1."""

    # The KV pool
    dcp_shrinks_heads: bool = False
    """KV heads per rank are counted over attention TP // DCP; before, over attention TP."""
    dflash_draft_kv: Literal["scaled", "scaled_dcp", "own"] = "scaled"
    draft_kv_added: bool = False
    """EAGLE drafts add int(cell * d / L); before, the cell becomes int(cell * (1 + d / L))."""
    handles_no_attention_stage: bool = False
    own_mtp_path_counts_one_layer: bool = False
    """Qwen3.5's own MTP layers, named as draft path, count 1 layer; before, all of the target's."""
    own_mtp_priced: bool = False
    """A launch without a draft path prices the target's own prediction layers."""
    index_keys_times_dcp: bool = False
    unified_prices_state: bool = False
    kv_sharding_scratch: bool = False
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
    prefill_graph_off_with_any_a2a: bool = True
    """Any all-to-all and LoRA, not only the ones outside a list."""
    prefill_graph_multimodal: frozenset[str] = _MULTIMODAL_16
    """Multimodal architectures that keep it."""
    prefill_graph_within_context: bool = True
    """Sizes are clamped to `--context-length`."""
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
    kimi_kernel_defaults: bool = False
    """On SM100, Kimi keeps bfloat16 state on triton and pages the attention of DSPARK drafts."""
    dflash_counts_as_one_chain: bool = False
    dflash_runs_with_dp: bool = False
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
    unified_algorithms: tuple[str, ...] = ()
    unified_verify_latent: frozenset[str] = _UNIFIED_VERIFY_19
    unified_verify_dense: frozenset[str] = _UNIFIED_VERIFY_19
    unified_dspark_backends: frozenset[str] = _UNIFIED_VERIFY_19
    unified_on_roles: bool = False
    """Unified memory runs on prefill and decode servers."""
    unified_roles_refuse_speculation: bool = False
    unified_with_dcp: bool = False
    unified_with_host_cache: bool = False
    unified_needs_equal_widths: bool = False
    """K and V heads of one width."""

    warning: str | None = None
    """Set when the asked-for release is outside the table."""


_CHANGES: dict[str, dict[str, Any]] = {
    "0.5.16": {
        "unreadable": _UNREADABLE_16,
        "outside_radix_lists": _UNLISTED_16,
        "without_family_rules": frozenset({"Lfm2MoeForCausalLM"}),
        "writes_back_kv_dtype": True,
        "dcp_refuses_speculation": True,
        "replay_verify_strict": True,
    },
    "0.5.17": {
        "unreadable": _UNREADABLE_18,
        "outside_radix_lists": _UNLISTED_17,
        "without_family_rules": frozenset(),
        "writes_back_kv_dtype": False,
        "lazy_refuses": "dflash",
        "paged_mha_pages": (16, 32, 64, 128),
        "unified_state_backends": frozenset({"triton", "flashinfer"}),
        "unified_latent_backends": _UNIFIED_LATENT - {"flashmla"},
        "dcp_refuses_speculation": False,
        "replay_verify_strict": False,
        "replay_verify_backends": ("triton", "flashinfer"),
        "prefill_graph_kept_sparse": True,
        "prefill_graph_off_for": _NEMOTRON_H,
        "prefill_graph_off_with_dp": False,
        "prefill_graph_off_with_any_a2a": False,
        "prefill_graph_within_context": False,
        "deepep_prefill_graph_mib": 1024,
        "kimi_kernel_defaults": True,
        "padding_slot": True,
        "charge_widest_stage": True,
        "honours_skip_decode_lock": True,
        "warns_state_cap": True,
        "replay_spec_priced": True,
        "replay_kda_families": frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"}),
        "dflash_draft_kv": "scaled_dcp",
        "handles_no_attention_stage": True,
        "vision_factor_on_pd_decode": False,
    },
    "0.5.18": {
        "outside_radix_lists": _UNLISTED_18,
        "lazy_refuses": "nothing",
        "unified_algorithms": ("DSPARK",),
        "unified_on_roles": True,
        "prefill_graph_off_latent": False,
        "prefill_graph_off_for": frozenset(),
        "prefill_graph_multimodal": _MULTIMODAL_18,
        "reserves_multimodal": True,
        "dcp_shrinks_heads": True,
        "dflash_draft_kv": "own",
        "own_mtp_path_counts_one_layer": True,
    },
    "0.5.19": {
        "unreadable": _UNREADABLE_19,
        "prefill_graph_off_with_stages": True,
        "outside_radix_lists": _UNLISTED_19,
        "nemotron_paged": True,
        "paged_prefill_checks": True,
        "nemotron_refuses_triton": False,
        "prefill_graph_capped_with_stages": True,
        "unified_latent_backends": _UNIFIED_LATENT,
        "unified_dense_backends": _UNIFIED_DENSE,
        "unified_disables_prefill_graph": True,
        "unified_needs_equal_widths": True,
        "replay_kda_families": _KDA_WITH_BAILING,
        "unified_records_bytes": True,
        "reads_bailing_kda": True,
    },
    "0.5.20": {
        "unreadable": _UNREADABLE_20,
        "prefill_graph_off_for": _KDA_BY_CONFIG | {"Glm5NextForConditionalGeneration"},
        "prefill_graph_multimodal": _MULTIMODAL_20,
        "fraction_of_unknown_card": 0.95,
        "outside_radix_lists": _UNLISTED_20,
        "default_value_counts_as_unset": False,
        "unified_disables_prefill_graph": False,
        "unified_with_dcp": True,
        "unified_disables_full_graph": True,
        "replay_gdn_fixed_ring": True,
        "replay_gdn_new_bytes": True,
        "replay_gdn_ring_is_cache_len": True,
        "own_mtp_priced": True,
        "small_card_doubled": True,
        "window_unified_search": "with_draft",
    },
    "0.5.21": {
        "unreadable": frozenset(),
        "outside_radix_lists": _UNLISTED_21,
        "inkling_in_radix_lists": True,
        "strategy_needs_state_model": True,
        "unified_roles_refuse_speculation": True,
        "decode_radix_algorithms": ("DSPARK",),
        "unified_with_host_cache": True,
        "nemotron_refuses_context_ranks": True,
        "stages_may_speculate": True,
        "nvfp4_chooses_backends": True,
        "replay_kda_families": _KDA_WITH_BAILING | {"Glm5NextForConditionalGeneration"},
        "fp4_by_recipe": True,
        "window_layers_by_stage": True,
        "window_unified_search": "always",
        "pp_refuses_mtp": False,
    },
    "0.5.22": {
        "prefill_graph_off_for": _KDA_BY_CONFIG,
        "prefill_graph_multimodal": _MULTIMODAL_22,
        "attention_dp_moves": True,
        "inkling_fa4_on_hopper": True,
        "unified_algorithms": ("DSPARK", "EAGLE", "EAGLE3", "DFLASH"),
        "unified_verify_latent": _UNIFIED_VERIFY_LATENT,
        "unified_verify_dense": _UNIFIED_DENSE,
        "unified_dspark_backends": _UNIFIED_VERIFY_LATENT,
        "unified_needs_equal_widths": False,
        "unified_refuses_decode_graphs": True,
        "prices_extra_slot_bytes": True,
        "prefill_skips_verify_scratch": True,
        "draft_kv_added": True,
        "window_share_per_layer": False,
        "index_keys_times_dcp": True,
        "kv_sharding_scratch": True,
        "decode_graph_capped_at_requests": True,
    },
    "0.5.23": {
        "latent_prefill_graph_tokens": 8192,
        "latent_prefill_graph_within_chunk": True,
        "dflash_counts_as_one_chain": True,
        "dflash_runs_with_dp": True,
        "dflash_draft_leaves_paged": True,
        "dspark_stages_on_prefill": True,
        "decode_radix_algorithms": ("DSPARK", "EAGLE", "EAGLE3"),
        "decode_radix_checked_with_role": False,
        "unified_refuses_decode_graphs": False,
        "unified_verify_dense": _UNIFIED_DENSE - {"fa4"},
        "unified_dspark_backends": _UNIFIED_VERIFY_LATENT | {"fa4"},
        "outside_radix_lists": frozenset(),
        "replay_decode_backends": ("triton", "helion"),
        "at_least_one_request_per_dp": True,
        "unified_prices_state": True,
        "window_draft_in_cap": True,
    },
}
"""What each release changed, on top of the one before."""


def _build_table() -> dict[str, Switches]:
    table, rules = {}, {}
    for version, changes in _CHANGES.items():
        rules.update(changes)
        table[version] = Switches(version=version, **rules)
    return table


TABLE: dict[str, Switches] = _build_table()
VERSIONS = tuple(TABLE)


def _release_number(version: str) -> tuple[int, ...]:
    """The numbers of a release name, without a suffix such as `.post1` or `rc2`."""
    numbers = []
    for part in version.strip().removeprefix("v").split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    if not numbers:
        raise InputError(
            f"`{version}` is not a release number",
            hint=f"write one of {VERSIONS[0]} to {VERSIONS[-1]}",
            where="--engine-version",
        )
    return tuple(numbers)


@lru_cache(maxsize=64)
def switches_for(version: str = DEFAULT_VERSION) -> Switches:
    """The rules of one release; outside the table the nearest release answers, with a warning.

    Raises:
        InputError: Not a release number.
    """
    if version in TABLE:
        return TABLE[version]
    asked = _release_number(version)
    known = {_release_number(name): name for name in VERSIONS}
    below = [number for number in known if number <= asked]
    nearest = known[max(below)] if below else VERSIONS[0]
    warning = (
        f"release {version} is outside the known ones ({VERSIONS[0]} to {VERSIONS[-1]}): the rules of {nearest} answer"
    )
    return replace(TABLE[nearest], warning=warning)
