"""What models, parallel layouts and memory layouts refuse."""

from __future__ import annotations

from poolsplit.engines.sglang.refusals.entry import Refusal, refusal

LAYOUT: dict[str, Refusal] = {
    "model_not_in_release": refusal(
        "{architecture} cannot be read by release {version}", "use a later release, `--engine-version`"
    ),
    "context_length_above_model": refusal(
        "`--context-length` {asked} is above the model's own {own}",
        "lower it, or set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
    ),
    "cuda_ipc_nodes": refusal(
        "multimodal features travel through CUDA IPC on one node only", "set `--mm-feature-transport cpu`"
    ),
    "nemotron_triton": refusal(
        "Nemotron-H models do not run on triton attention in this release", "leave `--attention-backend` unset"
    ),
    "language_model_only": refusal(
        "`--language-model-only` is not for {architecture}", "drop it: text alone can be served all the same"
    ),
    "expert_ranks_not_dividing": refusal(
        "expert parallelism of {ep_size} does not divide {tp_size} ranks",
        "choose an `--ep-size` that divides `--tp-size`",
    ),
    "dp_lm_head_alone": refusal(
        "`--enable-dp-lm-head` goes with attention data parallelism, and there is none",
        "drop it, or add `--enable-dp-attention` with `--dp-size`",
    ),
    "window_pool_needed": refusal(
        "{architecture} does not load without a pool of its own for window layers", "drop `--disable-hybrid-swa-memory`"
    ),
    "kv_cache_sharding_role": refusal(
        "`--enable-kv-cache-sharding` is for the prefill side of a pair of servers",
        "drop it, or add `--disaggregation-mode prefill`",
    ),
    "minicpm_dp": refusal("MiniCPM models do not run with attention data parallelism", "drop `--enable-dp-attention`"),
    "lfm2_triton": refusal(
        "LFM2 models do not run on triton attention", "choose another `--attention-backend`, such as flashinfer"
    ),
    "model_unsupported_by_unified": refusal(
        "{architecture} does not run with unified memory", "drop `--enable-unified-memory`"
    ),
    "dp_not_dividing": refusal(
        "attention data parallelism of {dp_size} does not divide {tp_size} ranks",
        "choose a `--dp-size` that divides `--tp-size`",
    ),
    "dcp_size_not_positive": refusal("`--dcp-size` {dcp_size} is not positive", "set it to 1 or more"),
    "dcp_with_spec": refusal(
        "this release does not speculate under decode context parallelism",
        "drop `--dcp-size` or `--speculative-algorithm`",
    ),
    "replicas_of_both_kinds": refusal(
        "{replicas} whole servers and {attention_replicas} attention replicas do not combine",
        "set `--dp-size` or `--attn-dp-size`, not both",
    ),
    "attention_ranks_not_dividing": refusal(
        "{ranks} attention replicas and context ranks do not divide {tp_size} tensor-parallel ranks",
        "choose `--dp-size` and `--attn-cp-size` whose product divides `--tp-size`",
    ),
    "attention_cp_unsupported": refusal(
        "{architecture} does not run with attention context parallelism", "drop `--attn-cp-size`"
    ),
    "a2a_needs_full_dp": refusal(
        "the flashinfer expert exchange needs one attention replica a rank, {tp_size} of them",
        "set `--enable-dp-attention` with `--dp-size` equal to `--tp-size`, or another `--moe-a2a-backend`",
    ),
    "encoder_split_unsupported": refusal(
        "{architecture} cannot be served apart from its encoders", "drop `--language-only` and `--encoder-only`"
    ),
    "data_parallel_nodes": refusal(
        "whole-server data parallelism does not span nodes", "use `--enable-dp-attention`, or one node"
    ),
    "unified_pd_pp": refusal(
        "unified memory on prefill or decode servers does not run with {what}",
        "drop `--enable-unified-memory` or what it does not run with (`--pp-size`, `--speculative-algorithm`)",
    ),
    "unified_dcp_mla_only": refusal(
        "unified memory under decode context parallelism is for {where}",
        "drop `--dcp-size` or `--enable-unified-memory`",
    ),
    "unified_speculation": refusal(
        "unified memory does not run with {algorithm}", "use EAGLE, EAGLE3, DFLASH or DSPARK"
    ),
    "unified_topk": refusal(
        "unified memory drafts one chain only, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "unified_attention_backend": refusal(
        "unified memory does not run on these attention or state kernels: {backends}",
        "choose another `--attention-backend`, or drop `--enable-unified-memory`",
    ),
    "unified_decode_graphs": refusal(
        "this release does not capture decode graphs for this model under unified memory",
        "add `--disable-decode-cuda-graph`, or drop `--enable-unified-memory`",
    ),
    "unified_conflict": refusal("unified memory does not combine with {other}", "drop one of the two"),
    "hicache_without_radix": refusal(
        "the hierarchical cache needs the radix cache", "drop `--disable-radix-cache` or `--enable-hierarchical-cache`"
    ),
    "hicache_unsupported_model": refusal(
        "{architecture} does not run with the hierarchical cache", "drop `--enable-hierarchical-cache`"
    ),
    "swa_ratio_range": refusal(
        "`--swa-full-tokens-ratio` {ratio} is not above 0 and at most 1", "set it between 0 and 1"
    ),
}
