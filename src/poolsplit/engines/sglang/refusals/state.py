"""What is refused around the recurrent state: cache strategies, replay, dtypes."""

from __future__ import annotations

from poolsplit.engines.sglang.refusals.entry import Refusal, refusal

STATE: dict[str, Refusal] = {
    "no_buffer_page_size": refusal(
        "the `no_buffer` strategy needs pages of 1 token, and the page size is {page_size_words}",
        "set `--page-size 1` or `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "no_buffer_overlap": refusal(
        "the `no_buffer` strategy needs the overlap schedule off",
        "add `--disable-overlap-schedule` or use `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "no_buffer_trtllm_mha": refusal(
        "the `no_buffer` strategy does not run on trtllm_mha attention",
        "choose another `--attention-backend`, or `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "extra_buffer_unsupported_arch": refusal(
        "{architecture} does not take the buffered strategies with this linear attention backend",
        "use `--mamba-radix-cache-strategy no_buffer` with `--disable-overlap-schedule`, or leave it unset",
    ),
    "strategy_needs_state": refusal(
        "`--mamba-radix-cache-strategy` {strategy} needs a model that keeps state in the prefix cache, "
        "and {architecture} does not",
        "leave the strategy unset",
    ),
    "lazy_with_pd": refusal(
        "`extra_buffer_lazy` does not run on prefill or decode servers",
        "use `--mamba-radix-cache-strategy extra_buffer`",
    ),
    "lazy_with_spec": refusal(
        "`extra_buffer_lazy` does not run with this speculation in this release",
        "use `--mamba-radix-cache-strategy extra_buffer` or drop `--speculative-algorithm`",
    ),
    "track_interval_below_draft": refusal(
        "`--mamba-track-interval` {interval} is below the {draft_tokens} draft tokens",
        "raise the interval or lower `--speculative-num-draft-tokens`",
    ),
    "track_interval_page": refusal(
        "`--mamba-track-interval` {interval} is no multiple of the page size {page_size}",
        "set the interval to a multiple of `--page-size`",
    ),
    "state_chunk_page": refusal(
        "the state kernel's chunk of {chunk} tokens and the page size {page_size} do not divide each other",
        "choose a `--page-size` that divides the chunk or is a multiple of it",
    ),
    "states_per_path": refusal(
        "`--mamba-max-states-per-path` {value} is neither -1 nor a positive number", "set it to -1 for no limit"
    ),
    "stochastic_rounding": refusal(
        "stochastic rounding of the state needs float16 state, and SM100 with the triton backend",
        "set `--mamba-ssm-dtype float16` and, below SM100, `--mamba-backend flashinfer`",
    ),
    "lmcache_conflict": refusal("LMCache does not run with {other}", "drop `--enable-lmcache`, or the other"),
    "int8_checkpoint_conflict": refusal("int8 state checkpoints do not combine with {other}", "drop one of the two"),
    "replayssm_backend": refusal(
        "replay of state updates needs the triton decode kernel for linear attention, not {backend}",
        "set `--linear-attn-decode-backend triton`",
    ),
    "replayssm_needs_no_buffer": refusal(
        "replay of state updates needs the `no_buffer` strategy",
        "set `--mamba-radix-cache-strategy no_buffer` with `--disable-overlap-schedule`, or `--disable-radix-cache`",
    ),
    "replayssm_pd": refusal(
        "replay of state updates does not run on prefill or decode servers", "drop `--enable-linear-replayssm`"
    ),
    "replayssm_ring_length": refusal(
        "`--linear-replayssm-cache-len` {length} does not suit: {expected}", "change the ring length"
    ),
    "replayssm_spec_topk": refusal(
        "replay verification needs a linear draft chain, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "replayssm_spec_pd": refusal(
        "a prefill server never verifies, so replay verification is refused there",
        "drop `--enable-linear-replayssm-spec`",
    ),
    "replayssm_exclusive": refusal(
        "the two replay options share one ring and exclude each other",
        "drop `--enable-linear-replayssm` or `--enable-linear-replayssm-spec`",
    ),
    "replayssm_state_dtype": refusal(
        "replay verification needs float32 state in this release", "set `--mamba-ssm-dtype float32`"
    ),
    "replayssm_ragged_mode": refusal(
        "replay verification with a ragged verify mode needs DSPARK or DFLASH and a verify kernel that writes rings",
        "set SGLANG_RAGGED_VERIFY_MODE=static",
    ),
    "linear_attn_state_dtype": refusal(
        "flashinfer kernels for linear attention need bfloat16 state on this card",
        "set `--mamba-ssm-dtype bfloat16` or another `--linear-attn-decode-backend`",
    ),
}
