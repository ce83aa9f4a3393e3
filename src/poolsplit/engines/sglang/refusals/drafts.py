"""What speculation refuses."""

from __future__ import annotations

from poolsplit.engines.sglang.refusals.entry import Refusal, refusal

DRAFTS: dict[str, Refusal] = {
    "decode_radix_with_spec": refusal(
        "a decode server with a radix cache does not run {algorithm}",
        "drop `--disaggregation-decode-enable-radix-cache` or `--speculative-algorithm`",
    ),
    "topk_with_pages": refusal(
        "a draft tree (topk {topk}) over pages of {page_size_words} tokens does not run on {backend} attention",
        "set `--speculative-eagle-topk 1`, `--page-size 1`, or another `--attention-backend`",
    ),
    "topk_trtllm_mha": refusal(
        "trtllm_mha attention verifies one chain only, and topk is {topk}", "set `--speculative-eagle-topk 1`"
    ),
    "spec_params_partial": refusal(
        "`--speculative-num-steps` is unset while topk or draft tokens are set",
        "set all three of steps, topk and draft tokens, or none",
    ),
    "spec_topk_unset": refusal(
        "`--speculative-eagle-topk` is unset while the steps are set, and the engine stops at it",
        "add `--speculative-eagle-topk 1`, or leave steps, topk and draft tokens all unset",
    ),
    "spec_draft_tokens_unset": refusal(
        "a draft tree (topk {topk}) needs its number of draft tokens",
        "add `--speculative-num-draft-tokens`, or set `--speculative-eagle-topk 1`",
    ),
    "draft_path_missing": refusal(
        "{algorithm} needs a draft checkpoint", "name it with `--speculative-draft-model-path`"
    ),
    "standalone_with_dp": refusal(
        "STANDALONE drafts do not run with attention data parallelism", "drop `--enable-dp-attention`"
    ),
    "ngram_with_dp": refusal("NGRAM drafts do not run with attention data parallelism", "drop `--enable-dp-attention`"),
    "dflash_dp_lm_head": refusal(
        "DFLASH under attention data parallelism needs the head split the same way", "add `--enable-dp-lm-head`"
    ),
    "dflash_with_dp": refusal(
        "DFLASH does not run with attention data parallelism in this release", "drop `--enable-dp-attention`"
    ),
    "dflash_with_pp": refusal("DFLASH does not run with pipeline stages", "drop `--pp-size`"),
    "dflash_draft_tokens": refusal(
        "DFLASH draft tokens {draft_tokens} differ from the block size {block_size}",
        "drop `--speculative-num-draft-tokens` or make the two equal",
    ),
    "dspark_dp_lm_head": refusal(
        "DSPARK under attention data parallelism needs the head split the same way", "add `--enable-dp-lm-head`"
    ),
    "dspark_with_pp": refusal(
        "DSPARK does not run with pipeline stages here", "drop `--pp-size`, or run it on a prefill server"
    ),
    "dspark_draft_tokens": refusal(
        "DSPARK draft tokens {draft_tokens} must be {expected}, one more than the draft's gamma",
        "drop `--speculative-num-draft-tokens`",
    ),
    "algorithm_unknown": refusal(
        "`--speculative-algorithm` {algorithm} is not known here",
        "use EAGLE, EAGLE3, NEXTN (a model's own MTP layers), STANDALONE, NGRAM, DFLASH or DSPARK",
    ),
}
