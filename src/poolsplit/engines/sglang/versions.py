"""What differs between releases of the engine: one table of independent switches.

`switches_for("0.5.19")` gives every rule of a release at once; no other module compares version numbers.
Source: docs/reference/start-up.md#releases, seen by running each wheel; held by the golden answers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from poolsplit.engines.sglang.release_lists import (
    KDA_BY_CONFIG,
    KDA_WITH_BAILING,
    MULTIMODAL_18,
    MULTIMODAL_20,
    MULTIMODAL_22,
    NEMOTRON_H,
    UNIFIED_DENSE,
    UNIFIED_LATENT,
    UNIFIED_VERIFY_DENSE,
    UNIFIED_VERIFY_LATENT,
    UNLISTED_16,
    UNLISTED_17,
    UNLISTED_18,
    UNLISTED_19,
    UNLISTED_20,
    UNLISTED_21,
    UNREADABLE_16,
    UNREADABLE_17,
    UNREADABLE_18,
    UNREADABLE_19,
    UNREADABLE_20,
    UNREADABLE_22,
)
from poolsplit.engines.sglang.switches import Switches
from poolsplit.errors import InputError

__all__ = ["DEFAULT_VERSION", "TABLE", "VERSIONS", "Switches", "switches_for"]

DEFAULT_VERSION = "0.5.23"

_CHANGES: dict[str, dict[str, Any]] = {
    "0.5.16": {
        "unreadable": UNREADABLE_16,
        "outside_radix_lists": UNLISTED_16,
        "without_family_rules": frozenset({"Lfm2MoeForCausalLM"}),
        "dcp_refuses_speculation": True,
        "writes_back_kv_dtype": True,
        "replay_verify_strict": True,
    },
    "0.5.17": {
        "padding_slot": True,
        "charge_widest_stage": True,
        "honours_skip_decode_lock": True,
        "replay_spec_priced": True,
        "replay_kda_families": frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"}),
        "dflash_draft_kv": "scaled_dcp",
        "handles_no_attention_stage": True,
        "vision_factor_on_pd_decode": False,
        "deepep_prefill_graph_mib": 1024,
        "prefill_graph_kept_sparse": True,
        "prefill_graph_off_for": NEMOTRON_H,
        "prefill_graph_off_with_dp": False,
        "prefill_graph_off_with_two_batches": True,
        "prefill_graph_off_with_any_a2a": False,
        "prefill_graph_within_context": False,
        "unreadable": UNREADABLE_17,
        "outside_radix_lists": UNLISTED_17,
        "without_family_rules": frozenset(),
        "lazy_refuses": "dflash",
        "kimi_k3_needs_kernel_folder": True,
        "kimi_kernel_defaults": True,
        "paged_mha_counts_drafts": True,
        "paged_mha_pages": (16, 32, 64, 128),
        "dcp_refuses_speculation": False,
        "writes_back_kv_dtype": False,
        "replay_verify_backends": ("triton", "flashinfer"),
        "replay_verify_strict": False,
        "unified_latent_backends": UNIFIED_LATENT - {"flashmla"},
        "unified_state_backends": frozenset({"triton", "flashinfer"}),
        "unified_state_prefill": frozenset({"triton", "flashkda"}),
    },
    "0.5.18": {
        "unreadable": UNREADABLE_18,
        "dcp_shrinks_heads": True,
        "dflash_draft_kv": "own",
        "own_mtp_path_counts_one_layer": True,
        "replay_decode_backends": ("triton", "helion"),
        "reserves_multimodal": True,
        "prefill_graph_off_latent": False,
        "prefill_graph_off_for": frozenset(),
        "prefill_graph_multimodal": MULTIMODAL_18,
        "outside_radix_lists": UNLISTED_18,
        "kimi_k3_needs_kernel_folder": False,
        "lazy_refuses": "nothing",
        "unified_algorithms": ("DSPARK",),
        "unified_on_roles": True,
    },
    "0.5.19": {
        "replay_kda_families": KDA_WITH_BAILING,
        "unified_records_bytes": True,
        "reads_bailing_kda": True,
        "aiter_may_keep_fraction": True,
        "prefill_graph_off_with_stages": True,
        "prefill_graph_capped_with_stages": True,
        "unreadable": UNREADABLE_19,
        "outside_radix_lists": UNLISTED_19,
        "nemotron_paged": True,
        "paged_prefill_checks": True,
        "nemotron_refuses_triton": False,
        "unified_latent_backends": UNIFIED_LATENT,
        "unified_dense_backends": UNIFIED_DENSE,
        "unified_disables_prefill_graph": True,
        "unified_needs_equal_widths": True,
    },
    "0.5.20": {
        "replay_gdn_fixed_ring": True,
        "replay_gdn_new_bytes": True,
        "replay_gdn_ring_is_cache_len": True,
        "own_mtp_priced": True,
        "states_of_own_drafts": frozenset({"Glm5NextForConditionalGeneration"}),
        "window_unified_search": "with_draft",
        "small_card_doubled": True,
        "fraction_of_unknown_card": 0.95,
        "prefill_graph_off_for": KDA_BY_CONFIG | {"Glm5NextForConditionalGeneration"},
        "glm5_prefill_graph_tokens": 4096,
        "prefill_graph_multimodal": MULTIMODAL_20,
        "unreadable": UNREADABLE_20,
        "outside_radix_lists": UNLISTED_20,
        "default_value_counts_as_unset": False,
        "unified_disables_prefill_graph": False,
        "unified_disables_full_graph": True,
        "unified_with_dcp": True,
    },
    "0.5.21": {
        "lmcache_checked": True,
        "replay_kda_families": KDA_WITH_BAILING | {"Glm5NextForConditionalGeneration"},
        "fp4_by_recipe": True,
        "window_layers_by_stage": True,
        "window_unified_search": "always",
        "pp_refuses_mtp": False,
        "unreadable": UNREADABLE_22,
        "outside_radix_lists": UNLISTED_21,
        "inkling_in_radix_lists": True,
        "strategy_needs_state_model": True,
        "decode_radix_algorithms": ("DSPARK",),
        "nemotron_refuses_context_ranks": True,
        "stages_may_speculate": True,
        "nvfp4_chooses_backends": True,
        "unified_roles_refuse_speculation": True,
        "unified_with_host_cache": True,
    },
    "0.5.22": {
        "prices_extra_slot_bytes": True,
        "prefill_skips_verify_scratch": True,
        "draft_over_all_ranks": False,
        "draft_kv_added": True,
        "index_keys_times_dcp": True,
        "window_share_per_layer": False,
        "decode_graph_capped_at_requests": True,
        "prefill_graph_off_for": KDA_BY_CONFIG,
        "glm5_prefill_graph_tokens": None,
        "prefill_graph_multimodal": MULTIMODAL_22,
        "attention_dp_moves": True,
        "inkling_fa4_on_hopper": True,
        "unified_refuses_decode_graphs": True,
        "unified_checks_topk": True,
        "unified_algorithms": ("DSPARK", "EAGLE", "EAGLE3", "DFLASH"),
        "fused_draft_backends": frozenset({"triton", "flashinfer", "fa3"}),
        "unified_verify_latent": UNIFIED_VERIFY_LATENT,
        "unified_verify_dense": UNIFIED_VERIFY_DENSE,
        "unified_dspark_backends": UNIFIED_VERIFY_LATENT,
        "unified_needs_equal_widths": False,
    },
    "0.5.23": {
        "unreadable": frozenset(),
        "states_of_own_drafts": frozenset(),
        "at_least_one_request_per_dp": True,
        "dflash_draft_over_context_ranks": True,
        "window_draft_in_cap": True,
        "latent_prefill_graph_tokens": 8192,
        "latent_prefill_graph_within_chunk": True,
        "outside_radix_lists": frozenset(),
        "dflash_counts_as_one_chain": True,
        "dflash_runs_with_dp": True,
        "dflash_draft_leaves_paged": True,
        "dspark_stages_on_prefill": True,
        "decode_radix_algorithms": ("DSPARK", "EAGLE", "EAGLE3"),
        "decode_radix_checked_with_role": False,
        "unified_refuses_decode_graphs": False,
        "fused_draft_backends": frozenset({"triton", "flashinfer", "fa3", "trtllm_mha", "fa4"}),
        "unified_verify_dense": UNIFIED_VERIFY_DENSE | {"trtllm_mha"},
        "unified_state_prefill": frozenset({"triton", "flashkda", "flashinfer"}),
        "unified_dspark_backends": UNIFIED_VERIFY_LATENT | {"fa4"},
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
