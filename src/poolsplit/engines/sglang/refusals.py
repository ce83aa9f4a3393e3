"""Every refusal of the engine that we know, in our own words: what is wrong, what was expected, the flag to move.

The ids and their figures are the project's own vocabulary, shared with the golden answers. Rules and solver raise
through `refuse`, so that an id has one text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import LaunchRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

ARGUMENTS = "server_args"
"""Stage of a refusal before anything is sized."""
LAUNCHER = "launcher"
"""Stage of the launcher's second validation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One refusal: a message with places for its figures and words, and the flag to move."""

    message: str
    hint: str


def _refusal(message: str, hint: str) -> Refusal:
    return Refusal(message=message, hint=hint)


REFUSALS: dict[str, Refusal] = {
    # The solver
    "state_pool_empty": _refusal(
        "no state slot fits: the pool resolves to {max_mamba_cache_size} slots of {slot_mib:.2f} MiB "
        "with {rest_gib:.2f} GiB left for both pools",
        "raise `--mem-fraction-static` or `--mamba-full-memory-ratio`, lower `--max-running-requests` or "
        "`--speculative-num-draft-tokens`, or use more memory",
    ),
    "no_memory_for_kv": _refusal(
        "nothing is left for the KV pool at `--mem-fraction-static` {mem_fraction_static}: it must be above "
        "{raise_above} for the weights alone (they need {minimum:.4f})",
        "raise `--mem-fraction-static`; if it is above that figure already, the state pool took the rest: lower "
        "`--max-mamba-cache-size` or `--mamba-full-memory-ratio`",
    ),
    "below_one_request": _refusal(
        "no request can run: {max_mamba_cache_size} state slots at {slots_per_request} slots a request "
        "leave {requests} requests",
        "raise `--mamba-full-memory-ratio`, `--max-mamba-cache-size`, `--max-total-tokens` or `--mem-fraction-static`",
    ),
    "kv_pool_empty": _refusal(
        "the KV pool holds not one page of tokens", "raise `--mem-fraction-static` or lower `--page-size`"
    ),
    "lazy_needs_overlap": _refusal(
        "`extra_buffer_lazy` needs the overlap schedule, which is off here",
        "use `--mamba-radix-cache-strategy extra_buffer`, or drop `--disable-overlap-schedule` and `--pp-size`",
    ),
    "swa_pool_below_one_request": _refusal(
        "the window pool of {swa_tokens} tokens does not hold one window of {window} and a page of {page_size}",
        "raise `--swa-full-tokens-ratio` or `--mem-fraction-static`",
    ),
    "swa_cap_leaves_no_kv": _refusal(
        "the fixed window pool of {swa_tokens} tokens leaves nothing for full attention",
        "lower `--max-running-requests` or `--chunked-prefill-size`, or raise `--mem-fraction-static`",
    ),
    "pp_partition_sum": _refusal(
        "the stages of `SGLANG_PP_LAYER_PARTITION` sum to {sum}, and the model has {layers} layers",
        "make the partition add up to the layers, one entry a stage",
    ),
    "stage_without_attention": _refusal(
        "this release cannot size a pipeline stage, or a model, that has no attention layer",
        "use fewer stages, or a release from 0.5.17 on",
    ),
    "pp_with_mtp": _refusal(
        "this release cannot pipeline a model with multi-token-prediction layers while it speculates",
        "drop `--pp-size` or `--speculative-algorithm`",
    ),
    "state_shape_not_divisible": _refusal(
        "the recurrent state does not divide over {width} ranks: {what} is {count}",
        "choose a `--tp-size` (and `--dp-size`) whose attention share divides it",
    ),
    # Model and release
    "model_not_in_release": _refusal(
        "{architecture} cannot be read by release {version}", "use a later release, `--engine-version`"
    ),
    "context_length_above_model": _refusal(
        "`--context-length` {asked} is above the model's own {own}",
        "lower it, or set SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
    ),
    "cuda_ipc_nodes": _refusal(
        "multimodal features travel through CUDA IPC on one node only", "set `--mm-feature-transport cpu`"
    ),
    "nemotron_triton": _refusal(
        "Nemotron-H models do not run on triton attention in this release", "leave `--attention-backend` unset"
    ),
    "minicpm_dp": _refusal("MiniCPM models do not run with attention data parallelism", "drop `--enable-dp-attention`"),
    "lfm2_triton": _refusal(
        "LFM2 models do not run on triton attention", "choose another `--attention-backend`, such as flashinfer"
    ),
    "model_unsupported_by_unified": _refusal(
        "{architecture} does not run with unified memory", "drop `--enable-unified-memory`"
    ),
    # Strategy of the state cache
    "no_buffer_page_size": _refusal(
        "the `no_buffer` strategy needs pages of 1 token, and the page size is {page_size_words}",
        "set `--page-size 1` or `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "no_buffer_overlap": _refusal(
        "the `no_buffer` strategy needs the overlap schedule off",
        "add `--disable-overlap-schedule` or use `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "no_buffer_trtllm_mha": _refusal(
        "the `no_buffer` strategy does not run on trtllm_mha attention",
        "choose another `--attention-backend`, or `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "extra_buffer_unsupported_arch": _refusal(
        "{architecture} does not take the buffered strategies with this linear attention backend",
        "use `--mamba-radix-cache-strategy no_buffer` with `--disable-overlap-schedule`, or leave it unset",
    ),
    "strategy_needs_state": _refusal(
        "`--mamba-radix-cache-strategy` {strategy} needs a model that keeps state in the prefix cache, "
        "and {architecture} does not",
        "leave the strategy unset",
    ),
    "lazy_with_pd": _refusal(
        "`extra_buffer_lazy` does not run on prefill or decode servers",
        "use `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "lazy_with_spec": _refusal(
        "`extra_buffer_lazy` does not run with this speculation in this release",
        "use `--mamba-radix-cache-strategy extra_buffer` or drop `--speculative-algorithm`",
    ),
    "track_interval_below_draft": _refusal(
        "`--mamba-track-interval` {interval} is below the {draft_tokens} draft tokens",
        "raise the interval or lower `--speculative-num-draft-tokens`",
    ),
    "track_interval_page": _refusal(
        "`--mamba-track-interval` {interval} is no multiple of the page size {page_size}",
        "set the interval to a multiple of `--page-size`",
    ),
    "state_chunk_page": _refusal(
        "the state kernel's chunk of {chunk} tokens and the page size {page_size} do not divide each other",
        "choose a `--page-size` that divides the chunk or is a multiple of it",
    ),
    "states_per_path": _refusal(
        "`--mamba-max-states-per-path` {value} is neither -1 nor a positive number", "set it to -1 for no limit"
    ),
    "stochastic_rounding": _refusal(
        "stochastic rounding of the state needs float16 state, and SM100 with the triton backend",
        "set `--mamba-ssm-dtype float16` and, below SM100, `--mamba-backend flashinfer`",
    ),
    "int8_checkpoint_conflict": _refusal("int8 state checkpoints do not combine with {other}", "drop one of the two"),
    # Replay of state updates
    "replayssm_backend": _refusal(
        "replay of state updates needs the triton decode kernel for linear attention, not {backend}",
        "set `--linear-attn-decode-backend triton`",
    ),
    "replayssm_needs_no_buffer": _refusal(
        "replay of state updates needs the `no_buffer` strategy",
        "set `--mamba-radix-cache-strategy no_buffer` with `--disable-overlap-schedule`, or `--disable-radix-cache`",
    ),
    "replayssm_pd": _refusal(
        "replay of state updates does not run on prefill or decode servers", "drop `--enable-linear-replayssm`"
    ),
    "replayssm_ring_length": _refusal(
        "`--linear-replayssm-cache-len` {length} does not suit: {expected}", "change the ring length"
    ),
    "replayssm_spec_topk": _refusal(
        "replay verification needs a linear draft chain, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "replayssm_spec_pd": _refusal(
        "a prefill server never verifies, so replay verification is refused there",
        "drop `--enable-linear-replayssm-spec`",
    ),
    "replayssm_exclusive": _refusal(
        "the two replay options share one ring and exclude each other",
        "drop `--enable-linear-replayssm` or `--enable-linear-replayssm-spec`",
    ),
    "replayssm_state_dtype": _refusal(
        "replay verification needs float32 state in this release", "set `--mamba-ssm-dtype float32`"
    ),
    "replayssm_ragged_mode": _refusal(
        "replay verification with a ragged verify mode needs DSPARK or DFLASH and a verify kernel that writes rings",
        "set SGLANG_RAGGED_VERIFY_MODE=static",
    ),
    "linear_attn_state_dtype": _refusal(
        "flashinfer kernels for linear attention need bfloat16 state on this card",
        "set `--mamba-ssm-dtype bfloat16` or another `--linear-attn-decode-backend`",
    ),
    # Attention and KV dtype
    "trtllm_mla_kv_dtype": _refusal(
        "trtllm_mla attention takes KV of fp8_e4m3, bf16 or auto, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "trtllm_mla_platform": _refusal(
        "trtllm_mla attention needs a Blackwell card", "choose another `--attention-backend`"
    ),
    "trtllm_mha_platform": _refusal(
        "trtllm_mha attention needs a Hopper or Blackwell card", "choose another `--attention-backend`"
    ),
    "trtllm_mha_fp8_prefill": _refusal(
        "trtllm_mha prefill takes no fp8_e4m3 KV on SM120",
        "change `--kv-cache-dtype` or `--prefill-attention-backend`",
    ),
    "trtllm_mha_context_parallel": _refusal(
        "trtllm_mha prefill under attention context parallelism needs an SM100 card",
        "drop `--attn-cp-size`, or choose another `--prefill-attention-backend`",
    ),
    "cutedsl_kv_dtype": _refusal(
        "cutedsl_mla attention takes KV of fp8_e4m3, bf16, bfloat16 or auto, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "cutedsl_platform": _refusal(
        "cutedsl_mla attention needs an SM100 card", "drop `--dcp-size`, or choose another decode backend"
    ),
    "cutedsl_prefill": _refusal("cutedsl_mla serves decode only", "choose another `--prefill-attention-backend`"),
    "dcp_decode_backend": _refusal(
        "decode context parallelism of this model needs cutedsl_mla decode, not {backend}",
        "leave `--decode-attention-backend` unset",
    ),
    "dsa_kv_dtype": _refusal(
        "sparse latent attention takes KV of bfloat16 or fp8_e4m3, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "nvfp4_platform": _refusal(
        "nvfp4 KV needs an SM100 or SM120 card", "set `--kv-cache-dtype` to fp8_e4m3 or fp4_mx_block16"
    ),
    "nvfp4_prefill_backend": _refusal(
        "nvfp4 KV prefills on flashinfer or trtllm_mha, not {backend}",
        "leave the attention backends unset, or change `--kv-cache-dtype`",
    ),
    "nvfp4_decode_backend": _refusal(
        "nvfp4 KV decodes on trtllm_mha, not {backend}", "leave `--decode-attention-backend` unset"
    ),
    "nvfp4_ngram": _refusal(
        "native nvfp4 KV verifies one chain only, and NGRAM drafts a tree",
        "change `--kv-cache-dtype` or `--speculative-algorithm`",
    ),
    "nvfp4_dflash": _refusal(
        "native nvfp4 KV does not run with {algorithm}",
        "use EAGLE with its default draft backend, or change `--kv-cache-dtype`",
    ),
    "nvfp4_pd": _refusal(
        "native nvfp4 KV cannot be sent between prefill and decode servers", "change `--kv-cache-dtype`"
    ),
    "nvfp4_host_cache": _refusal(
        "native nvfp4 KV has no host copy", "drop the hierarchical cache, or change `--kv-cache-dtype`"
    ),
    "fp4_unified": _refusal(
        "fp4 KV does not run with unified memory", "change `--kv-cache-dtype` or drop `--enable-unified-memory`"
    ),
    "fp4_mla_backend": _refusal(
        "fp4 KV of a latent model needs flashinfer or trtllm_mla attention, not {backend}",
        "change `--attention-backend` or `--kv-cache-dtype`",
    ),
    "fp4_mha_backend": _refusal(
        "fp4 KV needs triton, torch_native, flex_attention or trtllm_mha attention, not {backend}",
        "change `--attention-backend` or `--kv-cache-dtype`",
    ),
    "mxfp8_platform": _refusal("mxfp8 KV needs a Blackwell card", "set `--kv-cache-dtype fp8_e4m3`"),
    "kv_dtype_unknown": _refusal(
        "`--kv-cache-dtype` {dtype} is not known", "use auto, bfloat16, fp8_e4m3, fp8_e5m2, mxfp8 or nvfp4"
    ),
    # Parallel layout
    "dp_not_dividing": _refusal(
        "attention data parallelism of {dp_size} does not divide {tp_size} ranks",
        "choose a `--dp-size` that divides `--tp-size`",
    ),
    "dcp_size_not_positive": _refusal("`--dcp-size` {dcp_size} is not positive", "set it to 1 or more"),
    "dcp_with_spec": _refusal(
        "this release does not speculate under decode context parallelism",
        "drop `--dcp-size` or `--speculative-algorithm`",
    ),
    "attention_ranks_not_dividing": _refusal(
        "{ranks} attention replicas and context ranks do not divide {tp_size} tensor-parallel ranks",
        "choose `--dp-size` and `--attn-cp-size` whose product divides `--tp-size`",
    ),
    "attention_cp_unsupported": _refusal(
        "{architecture} does not run with attention context parallelism", "drop `--attn-cp-size`"
    ),
    "a2a_needs_full_dp": _refusal(
        "the flashinfer expert exchange needs one attention replica a rank, {tp_size} of them",
        "set `--enable-dp-attention` with `--dp-size` equal to `--tp-size`, or another `--moe-a2a-backend`",
    ),
    "encoder_split_unsupported": _refusal(
        "{architecture} cannot be served apart from its encoders", "drop `--language-only` and `--encoder-only`"
    ),
    "data_parallel_nodes": _refusal(
        "whole-server data parallelism does not span nodes", "use `--enable-dp-attention`, or one node"
    ),
    # Speculation
    "decode_radix_with_spec": _refusal(
        "a decode server with a radix cache does not run {algorithm}",
        "drop `--disaggregation-decode-enable-radix-cache` or `--speculative-algorithm`",
    ),
    "topk_with_pages": _refusal(
        "a draft tree (topk {topk}) over pages of {page_size_words} tokens does not run on {backend} attention",
        "set `--speculative-eagle-topk 1`, `--page-size 1`, or another `--attention-backend`",
    ),
    "topk_trtllm_mha": _refusal(
        "trtllm_mha attention verifies one chain only, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "spec_params_partial": _refusal(
        "`--speculative-num-steps` is unset while topk or draft tokens are set",
        "set all three of steps, topk and draft tokens, or none",
    ),
    "draft_path_missing": _refusal(
        "{algorithm} needs a draft checkpoint", "name it with `--speculative-draft-model-path`"
    ),
    "standalone_with_dp": _refusal(
        "STANDALONE drafts do not run with attention data parallelism", "drop `--enable-dp-attention`"
    ),
    "ngram_with_dp": _refusal(
        "NGRAM drafts do not run with attention data parallelism", "drop `--enable-dp-attention`"
    ),
    "dflash_dp_lm_head": _refusal(
        "DFLASH under attention data parallelism needs the head split the same way", "add `--enable-dp-lm-head`"
    ),
    "dflash_with_dp": _refusal(
        "DFLASH does not run with attention data parallelism in this release", "drop `--enable-dp-attention`"
    ),
    "dflash_with_pp": _refusal("DFLASH does not run with pipeline stages", "drop `--pp-size`"),
    "dflash_draft_tokens": _refusal(
        "DFLASH draft tokens {draft_tokens} differ from the block size {block_size}",
        "drop `--speculative-num-draft-tokens` or make the two equal",
    ),
    "dspark_dp_lm_head": _refusal(
        "DSPARK under attention data parallelism needs the head split the same way", "add `--enable-dp-lm-head`"
    ),
    "dspark_with_pp": _refusal(
        "DSPARK does not run with pipeline stages here", "drop `--pp-size`, or run it on a prefill server"
    ),
    "dspark_draft_tokens": _refusal(
        "DSPARK draft tokens {draft_tokens} must be {expected}, one more than the draft's gamma",
        "drop `--speculative-num-draft-tokens`",
    ),
    "algorithm_unknown": _refusal(
        "`--speculative-algorithm` {algorithm} is not known here",
        "use EAGLE, EAGLE3, NEXTN, STANDALONE, NGRAM, DFLASH or DSPARK",
    ),
    # Unified memory
    "unified_pd_pp": _refusal(
        "unified memory on prefill or decode servers does not run with {what}",
        "drop `--enable-unified-memory` or what it does not run with (`--pp-size`, `--speculative-algorithm`)",
    ),
    "unified_dcp_mla_only": _refusal(
        "unified memory under decode context parallelism is for {where}",
        "drop `--dcp-size` or `--enable-unified-memory`",
    ),
    "unified_speculation": _refusal(
        "unified memory does not run with {algorithm}", "use EAGLE, EAGLE3, DFLASH or DSPARK"
    ),
    "unified_topk": _refusal(
        "unified memory drafts one chain only, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "unified_attention_backend": _refusal(
        "unified memory does not run on these attention or state kernels: {backends}",
        "choose another `--attention-backend`, or drop `--enable-unified-memory`",
    ),
    "unified_decode_graphs": _refusal(
        "this release does not capture decode graphs for this model under unified memory",
        "add `--disable-decode-cuda-graph`, or drop `--enable-unified-memory`",
    ),
    "unified_conflict": _refusal("unified memory does not combine with {other}", "drop one of the two"),
    # Caches
    "hicache_without_radix": _refusal(
        "the hierarchical cache needs the radix cache", "drop `--disable-radix-cache` or `--enable-hierarchical-cache`"
    ),
    "hicache_unsupported_model": _refusal(
        "{architecture} does not run with the hierarchical cache", "drop `--enable-hierarchical-cache`"
    ),
    "swa_ratio_range": _refusal(
        "`--swa-full-tokens-ratio` {ratio} is not above 0 and at most 1", "set it between 0 and 1"
    ),
    # The launcher's second validation
    "pp_with_speculation": _refusal(
        "the launcher refuses this speculation with pipeline stages, although the pools could be sized",
        "drop `--pp-size` or `--speculative-algorithm`",
    ),
    "chunk_page": _refusal(
        "`--chunked-prefill-size` {chunk} is no multiple of the page size {page_size}",
        "make the chunk a multiple of `--page-size`",
    ),
    "nodes_not_dividing": _refusal(
        "{ranks} ranks do not divide over {nodes} nodes", "choose a `--nnodes` that divides tp x pp"
    ),
    "micro_batch_size": _refusal(
        "`--pp-max-micro-batch-size` {value} is not positive", "set it to 1 or more, or leave it unset"
    ),
}


def refuse(
    reason: str, *, stage: str = ARGUMENTS, figures: Mapping[str, int | float] | None = None, **words: object
) -> LaunchRefusedError:
    """The error of one refusal, to be raised by the caller.

    Args:
        reason: An id of `REFUSALS`.
        stage: Where the engine refuses.
        figures: The numbers that belong to the refusal; they also fill the message.
        **words: What else the message names.
    """
    entry = REFUSALS[reason]
    message = entry.message.format(**(figures or {}), **words)
    return LaunchRefusedError(message, stage=stage, reason=reason, figures=figures, hint=entry.hint)
