"""Speculation, layout, roles, unified memory and the launcher's second validation."""

import pytest

from poolsplit.errors import LaunchRefusedError
from rule_launches import DFLASH_DRAFT, DSPARK_DRAFT, EAGLE, resolved

NATIVE_NVFP4_DRAFT = {"speculative_algorithm": "EAGLE", "speculative_draft_attention_backend": "triton"}
DP = {"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}
UNIFIED = {"enable_unified_memory": True}


@pytest.mark.parametrize(
    ("flags", "draft", "steps", "topk", "tokens"),
    [
        ({"speculative_algorithm": "EAGLE"}, None, 3, 1, 4),
        ({"speculative_algorithm": "nextn"}, None, 3, 1, 4),
        ({**EAGLE, "speculative_num_steps": 5, "speculative_num_draft_tokens": 9}, None, 5, 1, 6),
        ({**EAGLE, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8}, None, 3, 4, 8),
        ({"speculative_algorithm": "NGRAM"}, None, 1, 10, 12),
        ({"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 24}, None, 2, 10, 24),
        ({"speculative_algorithm": "DFLASH"}, DFLASH_DRAFT, 1, 1, 8),
        ({"speculative_algorithm": "DFLASH", "speculative_dflash_block_size": 4}, DFLASH_DRAFT, 1, 1, 4),
        ({"speculative_algorithm": "DSPARK"}, DSPARK_DRAFT, 1, 1, 8),
        ({"speculative_algorithm": "DSPARK", "speculative_dspark_block_size": 3}, DSPARK_DRAFT, 1, 1, 4),
    ],
)
def test_speculation_defaults(flags, draft, steps, topk, tokens):
    found = resolved("kimi-linear-48b-a3b", draft=draft, **flags)
    assert found.speculative_num_steps == steps
    assert found.speculative_eagle_topk == topk
    assert found.speculative_num_draft_tokens == tokens
    assert found.max_running_requests == 48
    assert any("48" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("figures", "reason", "stage"),
    [
        ({"speculative_num_steps": 3}, "spec_topk_unset", "server_args"),
        ({"speculative_num_steps": 3, "speculative_num_draft_tokens": 4}, "spec_topk_unset", "server_args"),
        ({"speculative_eagle_topk": 1}, "spec_params_partial", "server_args"),
        ({"speculative_num_steps": 3, "speculative_eagle_topk": 2}, "spec_draft_tokens_unset", "solver[pp_rank=0]"),
    ],
)
@pytest.mark.parametrize("algorithm", ["EAGLE", "NEXTN", "STANDALONE"])
def test_half_given_trees_stop_the_engine(algorithm, figures, reason, stage):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(speculative_algorithm=algorithm, **figures)
    assert (refused.value.reason, refused.value.stage) == (reason, stage)


def test_adaptive_speculation_fills_the_tree_in():
    found = resolved(speculative_algorithm="EAGLE", speculative_adaptive=True, speculative_num_steps=1)
    assert (found.speculative_eagle_topk, found.speculative_num_draft_tokens) == (1, 2)
    unnamed = resolved(speculative_algorithm="EAGLE", speculative_adaptive=True, speculative_num_draft_tokens=9)
    assert (unnamed.speculative_num_steps, unnamed.speculative_num_draft_tokens) == (3, 4)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ({"language_model_only": True}, "language_model_only"),
        ({"tp_size": 4, "ep_size": 8}, "expert_ranks_not_dividing"),
        ({"enable_kv_cache_sharding": True}, "kv_cache_sharding_role"),
        ({"enable_kv_cache_sharding": True, "disaggregation_mode": "decode"}, "kv_cache_sharding_role"),
        ({"enable_dp_lm_head": True, "dp_size": 2, "tp_size": 2}, "dp_lm_head_alone"),
    ],
)
def test_options_without_their_counterpart(flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(**flags)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "flags",
    [
        {"enable_kv_cache_sharding": True, "disaggregation_mode": "prefill"},
        {"enable_dp_lm_head": True},
        {"enable_dp_lm_head": True, **DP},
    ],
)
def test_the_same_options_with_it(flags):
    assert resolved(**flags).launcher_reason is None


@pytest.mark.parametrize(
    ("flags", "other"),
    [
        ({"disable_radix_cache": True}, "radix"),
        ({"speculative_algorithm": "NGRAM"}, "speculation"),
        (DP, "data parallelism"),
        ({"disaggregation_mode": "prefill"}, "servers"),
    ],
)
def test_lmcache_runs_with_little(flags, other):
    assert resolved(enable_lmcache=True).disable_radix_cache is False
    with pytest.raises(LaunchRefusedError, match=other) as refused:
        resolved(enable_lmcache=True, **flags)
    assert refused.value.reason == "lmcache_conflict"
    assert resolved(enable_lmcache=True, version="0.5.20", **flags).tp_size >= 1


def test_a_window_model_needs_its_window_pool():
    with pytest.raises(LaunchRefusedError) as refused:
        resolved("made-up-inkling", disable_hybrid_swa_memory=True)
    assert refused.value.reason == "window_pool_needed"


def test_a_given_request_limit_stands_under_speculation():
    found = resolved(**EAGLE, max_running_requests=200)
    assert found.max_running_requests == 200
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("model", "draft", "version", "layers"),
    [
        ("qwen3-next-80b-a3b", None, "0.5.23", None),
        ("qwen3-next-80b-a3b", "qwen3-next-80b-a3b", "0.5.16", 1),
        ("qwen3.5-397b-a17b", "qwen3.5-397b-a17b", "0.5.17", 60),
        ("qwen3.5-397b-a17b", "qwen3.5-397b-a17b", "0.5.18", 1),
        ("nemotron-3-super-120b-a12b-fp8", None, "0.5.19", None),
        ("nemotron-3-super-120b-a12b-fp8", None, "0.5.20", 1),
        ("nemotron-h-56b", "nemotron-h-56b", "0.5.23", 1),
        ("made-up-ring-mtp", None, "0.5.16", 1),
        ("falcon-h1-0.5b", "falcon-h1-0.5b", "0.5.23", 36),
        ("granite-4.0-h-small", "qwen3-8b-dense", "0.5.23", 36),
    ],
)
def test_draft_layers_that_ride_on_the_targets_rows(model, draft, version, layers):
    assert resolved(model, draft=draft, version=version, **EAGLE).eagle_draft_layers == layers


def test_a_draft_shorter_than_the_asked_context_is_left_to_the_runner():
    launch = {"model": "granite-4.0-h-small", "draft": "qwen3-8b-dense", "speculative_algorithm": "STANDALONE"}
    assert resolved(**launch, context_length=131072).draft_context_limit == 40960
    assert resolved(**launch, context_length=40960).draft_context_limit is None
    assert resolved(**launch).draft_context_limit is None


def test_drafting_with_the_model_s_own_layers_has_its_name_in_the_hint():
    with pytest.raises(LaunchRefusedError) as refused:
        resolved("qwen3-next-80b-a3b", speculative_algorithm="MTP")
    assert "NEXTN (a model's own MTP layers)" in refused.value.hint


@pytest.mark.parametrize(
    ("model", "flags", "draft", "reason"),
    [
        ("qwen3-next-80b-a3b", {"speculative_algorithm": "MEDUSA"}, None, "algorithm_unknown"),
        ("qwen3-next-80b-a3b", {"speculative_algorithm": "DFLASH"}, None, "draft_path_missing"),
        ("qwen3-next-80b-a3b", {"speculative_algorithm": "DSPARK"}, None, "draft_path_missing"),
        (
            "qwen3-next-80b-a3b",
            {"speculative_algorithm": "EAGLE", "speculative_eagle_topk": 2},
            None,
            "spec_params_partial",
        ),
        ("qwen3-next-80b-a3b", {**DP, "speculative_algorithm": "STANDALONE"}, "qwen3-8b-dense", "standalone_with_dp"),
        ("qwen3-next-80b-a3b", {**DP, "speculative_algorithm": "NGRAM"}, None, "ngram_with_dp"),
        ("qwen3-next-80b-a3b", {**DP, "speculative_algorithm": "DFLASH"}, DFLASH_DRAFT, "dflash_dp_lm_head"),
        ("kimi-linear-48b-a3b", {**DP, "speculative_algorithm": "DSPARK"}, DSPARK_DRAFT, "dspark_dp_lm_head"),
        ("qwen3-next-80b-a3b", {"pp_size": 2, "speculative_algorithm": "DFLASH"}, DFLASH_DRAFT, "dflash_with_pp"),
        ("kimi-linear-48b-a3b", {"pp_size": 2, "speculative_algorithm": "DSPARK"}, DSPARK_DRAFT, "dspark_with_pp"),
        (
            "kimi-linear-48b-a3b",
            {"speculative_algorithm": "DSPARK", "speculative_num_draft_tokens": 4},
            DSPARK_DRAFT,
            "dspark_draft_tokens",
        ),
        (
            "qwen3-next-80b-a3b",
            {
                "speculative_algorithm": "DFLASH",
                "speculative_num_draft_tokens": 4,
                "speculative_dflash_block_size": 8,
            },
            DFLASH_DRAFT,
            "dflash_draft_tokens",
        ),
        (
            "qwen3-next-80b-a3b",
            {**EAGLE, "speculative_eagle_topk": 4, "page_size": 64, "attention_backend": "fa4"},
            None,
            "topk_with_pages",
        ),
        ("granite-4.0-h-small", {"speculative_algorithm": "NGRAM", "page_size": 64}, None, "topk_with_pages"),
        (
            "qwen3-8b-dense",
            {"speculative_algorithm": "NGRAM", "enable_unified_memory": True},
            None,
            "unified_speculation",
        ),
        (
            "qwen3-next-80b-a3b",
            {
                "speculative_algorithm": "NGRAM",
                "disaggregation_mode": "decode",
                "disaggregation_decode_enable_radix_cache": True,
            },
            None,
            "decode_radix_with_spec",
        ),
    ],
)
def test_speculation_is_refused(model, flags, draft, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, draft=draft, **flags)
    assert refused.value.reason == reason


def test_paged_attention_takes_no_draft_tree():
    with pytest.raises(LaunchRefusedError, match="trtllm_mha"):
        resolved(
            "granite-4.0-h-small", "b200", attention_backend="trtllm_mha", **{**EAGLE, "speculative_eagle_topk": 4}
        )


def test_native_fp4_drafts_on_paged_attention():
    with pytest.raises(LaunchRefusedError) as refused:
        resolved("granite-4.0-h-small", "b200", kv_cache_dtype="nvfp4", **NATIVE_NVFP4_DRAFT)
    assert refused.value.reason == "nvfp4_dflash"


@pytest.mark.parametrize(
    ("version", "flags", "reason"),
    [
        ("0.5.20", {**EAGLE, "disaggregation_mode": "prefill"}, "pp_with_speculation"),
        ("0.5.21", {**EAGLE, "disaggregation_mode": "prefill"}, None),
        ("0.5.23", EAGLE, "pp_with_speculation"),
        ("0.5.23", {"speculative_algorithm": "NGRAM", "disaggregation_mode": "prefill"}, "pp_with_speculation"),
        ("0.5.23", {}, None),
        ("0.5.23", {"nnodes": 3}, "nodes_not_dividing"),
        ("0.5.23", {"pp_max_micro_batch_size": 0}, "micro_batch_size"),
        ("0.5.23", {"chunked_prefill_size": 1000, "page_size": 64}, "chunk_page"),
        ("0.5.23", {"dp_size": 2, "nnodes": 2}, "data_parallel_nodes"),
    ],
)
def test_the_launchers_second_validation_is_told_beside_the_answer(version, flags, reason):
    found = resolved(version=version, tp_size=2, pp_size=2, **flags)
    assert found.launcher_reason == reason
    assert (found.launcher_message is None) == (reason is None)


def test_stages_may_speculate_by_opting_in():
    opted = {"SGLANG_ENABLE_PP_SPEC": "1"}
    assert resolved(pp_size=2, env=opted, **EAGLE).launcher_reason is None
    assert resolved("made-up-gigachat35", pp_size=2, env=opted, **EAGLE).launcher_reason == "pp_with_speculation"


@pytest.mark.parametrize(
    ("model", "version", "flags", "reason"),
    [
        ("kimi-k3", "0.5.16", {}, "model_not_in_release"),
        ("falcon-mamba-7b", "0.5.19", {}, "model_not_in_release"),
        ("falcon-mamba-7b", "0.5.19", {"context_length": 4096}, "context_length_above_model"),
        ("nemotron-h-56b", "0.5.23", {"context_length": 8193}, "context_length_above_model"),
        ("qwen3-next-80b-a3b", "0.5.16", {"tp_size": 4, "dcp_size": 2, **EAGLE}, "dcp_with_spec"),
        ("qwen3-next-80b-a3b", "0.5.23", {"dcp_size": 0}, "dcp_size_not_positive"),
        ("qwen3-next-80b-a3b", "0.5.23", {"tp_size": 4, "dp_size": 3, "enable_dp_attention": True}, "dp_not_dividing"),
        ("qwen3-next-80b-a3b", "0.5.23", {"tp_size": 3, "attn_cp_size": 2}, "attention_ranks_not_dividing"),
        ("nemotron-h-56b", "0.5.23", {"tp_size": 4, "attn_cp_size": 2}, "attention_cp_unsupported"),
        ("nemotron-h-56b", "0.5.18", {"attention_backend": "triton"}, "nemotron_triton"),
        ("qwen3-next-80b-a3b", "0.5.23", {"tp_size": 4, "moe_a2a_backend": "flashinfer"}, "a2a_needs_full_dp"),
        ("nemotron-h-56b", "0.5.23", {"language_only": True}, "encoder_split_unsupported"),
        ("made-up-minicpm-sala", "0.5.23", {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True}, "minicpm_dp"),
        ("made-up-minicpm-sala", "0.5.23", {"enable_hierarchical_cache": True}, "hicache_unsupported_model"),
        (
            "qwen3-next-80b-a3b",
            "0.5.23",
            {"enable_hierarchical_cache": True, "disable_radix_cache": True},
            "hicache_without_radix",
        ),
        ("made-up-inkling", "0.5.23", {"swa_full_tokens_ratio": 1.5}, "swa_ratio_range"),
        ("qwen3-next-80b-a3b", "0.5.23", {"mm_feature_transport": "cuda_ipc", "nnodes": 2}, "cuda_ipc_nodes"),
    ],
)
def test_models_layouts_and_caches_are_refused(model, version, flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, version=version, **flags)
    assert refused.value.reason == reason


def test_a_longer_context_by_override():
    env = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "true"}
    assert resolved("nemotron-h-56b", env=env, context_length=16384).context_len == 16384
    assert resolved("falcon-mamba-7b").context_len == 2048


@pytest.mark.parametrize(
    ("model", "card", "version", "flags", "reason"),
    [
        ("qwen3-next-80b-a3b", "h200", "0.5.18", UNIFIED, "unified_attention_backend"),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.17",
            {**UNIFIED, **EAGLE, "attention_backend": "triton"},
            "unified_speculation",
        ),
        ("qwen3-next-80b-a3b", "h200", "0.5.23", {**UNIFIED, **EAGLE, "speculative_eagle_topk": 2}, "unified_topk"),
        ("qwen3-next-80b-a3b", "h200", "0.5.23", {**UNIFIED, "tp_size": 4, "dcp_size": 2}, "unified_dcp_mla_only"),
        ("kimi-linear-48b-a3b", "h200", "0.5.23", {**UNIFIED, "tp_size": 4, "dcp_size": 2}, "unified_dcp_mla_only"),
        (
            "kimi-linear-48b-a3b",
            "b200",
            "0.5.23",
            {**UNIFIED, "tp_size": 4, "dcp_size": 2, "disaggregation_mode": "prefill"},
            "unified_dcp_mla_only",
        ),
        ("kimi-linear-48b-a3b", "b200", "0.5.19", {**UNIFIED, "tp_size": 4, "dcp_size": 2}, "unified_conflict"),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.23",
            {**UNIFIED, "pp_size": 2, "disaggregation_mode": "prefill"},
            "unified_pd_pp",
        ),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.23",
            {**UNIFIED, **EAGLE, "disaggregation_mode": "prefill"},
            "unified_pd_pp",
        ),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.17",
            {**UNIFIED, "attention_backend": "triton", "disaggregation_mode": "prefill"},
            "unified_conflict",
        ),
        ("qwen3-next-80b-a3b", "h200", "0.5.23", {**UNIFIED, "enable_lmcache": True}, "unified_conflict"),
        ("qwen3-next-80b-a3b", "h200", "0.5.20", {**UNIFIED, "enable_hierarchical_cache": True}, "unified_conflict"),
        ("qwen3-next-80b-a3b", "h200", "0.5.23", {"enable_page_major_kv_layout": True}, "unified_conflict"),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.23",
            {**UNIFIED, "linear_attn_decode_backend": "cutedsl"},
            "unified_attention_backend",
        ),
        (
            "qwen3-next-80b-a3b",
            "h200",
            "0.5.23",
            {**UNIFIED, "mamba_backend": "flashinfer"},
            "unified_attention_backend",
        ),
        ("made-up-inkling", "h200", "0.5.19", UNIFIED, "unified_conflict"),
        ("qwen3-next-80b-a3b", "b200", "0.5.22", {**UNIFIED, "disable_radix_cache": True}, "unified_decode_graphs"),
        ("made-up-inkling", "b200", "0.5.23", {**UNIFIED, **EAGLE}, "unified_attention_backend"),
    ],
)
def test_unified_memory_is_refused(model, card, version, flags, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(model, card, version=version, **flags)
    assert refused.value.reason == reason


def test_unified_memory_ends_prefill_graphs_that_it_cannot_capture():
    assert resolved(version="0.5.19", **UNIFIED).prefill_graph_backend == "disabled"
    assert resolved(version="0.5.20", **UNIFIED).prefill_graph_backend == "breakable"
    kept = resolved("made-up-inkling", "h200", **UNIFIED)
    assert kept.prefill_graph_backend == "full"
    ended = resolved("made-up-inkling", "a100", **UNIFIED)
    assert ended.prefill_graph_backend == "disabled"


@pytest.mark.parametrize(
    ("flags", "slots"),
    [
        ({}, 0),
        ({"max_running_requests": 32}, 64),
        ({"max_running_requests": 33}, 0),
        ({"max_running_requests": 8, **DP}, 4),
        ({"max_running_requests": 8, "disaggregation_decode_extra_slots": 5}, 5),
    ],
)
def test_slots_that_a_decode_server_keeps_for_transfers(flags, slots):
    assert resolved(disaggregation_mode="decode", **flags).decode_extra_slots == slots
    assert resolved(**flags).decode_extra_slots == 0


def test_the_partition_is_read_only_with_stages():
    env = {"SGLANG_PP_LAYER_PARTITION": "20,28"}
    assert resolved(pp_size=2, env=env).pp_layer_partition == (20, 28)
    assert resolved(env=env).pp_layer_partition is None


@pytest.mark.parametrize(
    ("model", "version", "env", "flags", "reserve"),
    [
        ("kimi-k3", "0.5.17", {}, {}, 0.0),
        ("kimi-k3", "0.5.18", {}, {}, 0.09765625),
        ("kimi-k3", "0.5.23", {"SGLANG_VLM_CACHE_SIZE_MB": "0"}, {}, 0.0),
        ("kimi-k3", "0.5.23", {}, {"mm_feature_transport": "cuda_ipc"}, 1124 / 1024),
        ("kimi-k3", "0.5.23", {}, {"enable_multimodal": False}, 0.0),
        ("qwen3-next-80b-a3b", "0.5.23", {}, {}, 0.0),
        ("made-up-inkling", "0.5.23", {}, {}, 0.0),
        ("made-up-inkling", "0.5.23", {}, {"enable_multimodal": True}, 0.09765625),
    ],
)
def test_the_multimodal_reserve(model, version, env, flags, reserve):
    assert resolved(model, version=version, env=env, tp_size=8, **flags).mm_reservation_gib == reserve


def test_pools_after_graph_capture_are_said_not_to_be_computed():
    found = resolved(env={"SGLANG_ENABLE_POST_CAPTURE_KV_SIZING": "1"})
    assert any("after graph capture" in warning for warning in found.warnings)


def test_attention_replicas_under_the_newer_spelling():
    newer = resolved(tp_size=8, attn_dp_size=4)
    older = resolved(tp_size=8, dp_size=4, enable_dp_attention=True)
    assert (newer.attn_dp_size, newer.attn_tp_size) == (older.attn_dp_size, older.attn_tp_size) == (4, 2)
    with pytest.raises(LaunchRefusedError) as refused:
        resolved(tp_size=8, attn_dp_size=4, dp_size=2)
    assert refused.value.reason == "replicas_of_both_kinds"


@pytest.mark.parametrize(
    ("flags", "needle"),
    [
        ({"speculative_adaptive": True}, "adaptive"),
        ({"enable_kv_cache_sharding": True, "disaggregation_mode": "prefill"}, "sharding"),
        ({"json_model_override_args": "{}"}, "--json-model-override-args"),
        ({"cuda_graph_config": "{}"}, "--cuda-graph-config"),
    ],
)
def test_what_the_rules_do_not_follow_is_said(flags, needle):
    assert any(needle in warning for warning in resolved(**flags).warnings)


@pytest.mark.parametrize(("version", "graph"), [("0.5.16", "breakable"), ("0.5.17", "disabled")])
def test_two_batches_at_once_end_the_prefill_graph(version, graph):
    assert resolved(version=version, enable_two_batch_overlap=True).prefill_graph_backend == graph


def test_a_single_ngram_branch_may_use_pages():
    launch = {"speculative_algorithm": "NGRAM", "page_size": 64, "speculative_ngram_max_bfs_breadth": 1}
    found = resolved("granite-4.0-h-small", **launch)
    assert (found.speculative_eagle_topk, found.page_size) == (1, 64)


@pytest.mark.parametrize(
    ("version", "card", "env", "warned"),
    [
        ("0.5.17", "b200", {}, True),
        ("0.5.17", "b200", {"SGLANG_TRTLLM_GEN_MOE_CUBIN_POOL": "/kernels"}, False),
        ("0.5.17", "h200", {}, False),
        ("0.5.18", "b200", {}, False),
    ],
)
def test_kernels_that_one_release_looks_for_on_the_machine(version, card, env, warned):
    found = resolved("kimi-k3", card, version=version, env=env, tp_size=8)
    assert any("CUBIN_POOL" in warning for warning in found.warnings) is warned
