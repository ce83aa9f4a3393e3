"""What the solver and the launcher refuse: pools that do not fit, and stages."""

from __future__ import annotations

from poolsplit.engines.sglang.refusals.entry import Refusal, refusal

SIZING: dict[str, Refusal] = {
    "state_pool_empty": refusal(
        "no state slot fits: the pool resolves to {max_mamba_cache_size} slots of {slot_mib:.2f} MiB "
        "with {rest_gib:.2f} GiB left for both pools",
        "raise `--mem-fraction-static` or `--mamba-full-memory-ratio`, lower `--max-running-requests` or "
        "`--speculative-num-draft-tokens`, or use more memory",
    ),
    "no_memory_for_kv": refusal(
        "nothing is left for the KV pool at `--mem-fraction-static` {mem_fraction_static}: it must be above "
        "{raise_above} for the weights alone (they need {minimum:.4f})",
        "raise `--mem-fraction-static`; if it is above that figure already, the state pool took the rest: lower "
        "`--max-mamba-cache-size` or `--mamba-full-memory-ratio`",
    ),
    "below_one_request": refusal(
        "no request can run: {max_mamba_cache_size} state slots at {slots_per_request} slots a request "
        "leave {requests} requests",
        "raise `--mamba-full-memory-ratio`, `--max-mamba-cache-size`, `--max-total-tokens` or `--mem-fraction-static`",
    ),
    "kv_pool_empty": refusal(
        "the KV pool holds not one page of tokens", "raise `--mem-fraction-static` or lower `--page-size`"
    ),
    "lazy_needs_overlap": refusal(
        "`extra_buffer_lazy` needs the overlap schedule, which is off here",
        "use `--mamba-radix-cache-strategy extra_buffer`, or drop `--disable-overlap-schedule` and `--pp-size`",
    ),
    "swa_pool_below_one_request": refusal(
        "the window pool of {swa_tokens} tokens does not hold one window of {window} and a page of {page_size}",
        "raise `--swa-full-tokens-ratio` or `--mem-fraction-static`",
    ),
    "swa_cap_leaves_no_kv": refusal(
        "the fixed window pool of {swa_tokens} tokens leaves nothing for full attention",
        "lower `--max-running-requests` or `--chunked-prefill-size`, or raise `--mem-fraction-static`",
    ),
    "pp_partition_sum": refusal(
        "the stages of `SGLANG_PP_LAYER_PARTITION` sum to {sum}, and the model has {layers} layers",
        "make the partition add up to the layers, one entry a stage",
    ),
    "stage_without_attention": refusal(
        "this release cannot size a pipeline stage, or a model, that has no attention layer",
        "use fewer stages, or a release from 0.5.17 on",
    ),
    "replay_without_requests": refusal(
        "the replayed verification keeps its rings by the running request, and no number of them is known",
        "set `--max-running-requests`, name a `--speculative-algorithm`, or drop `--enable-linear-replayssm-spec`",
    ),
    "stage_without_window": refusal(
        "this pipeline stage has no window layer, and a model with a window pool needs one on every stage",
        "use fewer stages, or move the cuts of `SGLANG_PP_LAYER_PARTITION`",
    ),
    "pp_with_mtp": refusal(
        "this release cannot pipeline a model with multi-token-prediction layers while it speculates",
        "drop `--pp-size` or `--speculative-algorithm`",
    ),
    "pp_with_speculation": refusal(
        "the launcher refuses this speculation with pipeline stages, although the pools could be sized",
        "drop `--pp-size` or `--speculative-algorithm`",
    ),
    "state_not_dividing": refusal(
        "{count} {what} of the state layers do not divide over {width} ranks",
        "choose a `--tp-size` that divides the model's heads",
    ),
    "chunk_page": refusal(
        "`--chunked-prefill-size` {chunk} is no multiple of the page size {page_size}",
        "make the chunk a multiple of `--page-size`",
    ),
    "nodes_not_dividing": refusal(
        "{ranks} ranks do not divide over {nodes} nodes", "choose a `--nnodes` that divides tp x pp"
    ),
    "micro_batch_size": refusal(
        "`--pp-max-micro-batch-size` {value} is not positive", "set it to 1 or more, or leave it unset"
    ),
}
