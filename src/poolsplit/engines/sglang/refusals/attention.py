"""What attention kernels and KV dtypes refuse."""

from __future__ import annotations

from poolsplit.engines.sglang.refusals.entry import Refusal, refusal

ATTENTION: dict[str, Refusal] = {
    "trtllm_mla_kv_dtype": refusal(
        "trtllm_mla attention takes KV of fp8_e4m3, bf16 or auto, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "trtllm_mla_platform": refusal(
        "trtllm_mla attention needs a Blackwell card", "choose another `--attention-backend`"
    ),
    "trtllm_mha_platform": refusal(
        "trtllm_mha attention needs a Hopper or Blackwell card", "choose another `--attention-backend`"
    ),
    "trtllm_mha_fp8_prefill": refusal(
        "trtllm_mha prefill takes no fp8_e4m3 KV on SM120",
        "change `--kv-cache-dtype` or `--prefill-attention-backend`",
    ),
    "trtllm_mha_context_parallel": refusal(
        "trtllm_mha prefill under attention context parallelism needs an SM100 card",
        "drop `--attn-cp-size`, or choose another `--prefill-attention-backend`",
    ),
    "deterministic_backend": refusal(
        "deterministic inference does not run on {backend} attention", "set `--attention-backend` to one of {known}"
    ),
    "cutedsl_kv_dtype": refusal(
        "cutedsl_mla attention takes KV of fp8_e4m3, bf16, bfloat16 or auto, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "cutedsl_platform": refusal(
        "cutedsl_mla attention needs an SM100 card", "drop `--dcp-size`, or choose another decode backend"
    ),
    "cutedsl_prefill": refusal("cutedsl_mla serves decode only", "choose another `--prefill-attention-backend`"),
    "dcp_decode_backend": refusal(
        "decode context parallelism of this model needs cutedsl_mla decode, not {backend}",
        "leave `--decode-attention-backend` unset",
    ),
    "dsa_kv_dtype": refusal(
        "sparse latent attention takes KV of bfloat16 or fp8_e4m3, not {dtype}", "change `--kv-cache-dtype`"
    ),
    "nvfp4_platform": refusal(
        "nvfp4 KV needs an SM100 or SM120 card", "set `--kv-cache-dtype` to fp8_e4m3 or fp4_mx_block16"
    ),
    "nvfp4_prefill_backend": refusal(
        "nvfp4 KV prefills on flashinfer or trtllm_mha, not {backend}",
        "leave the attention backends unset, or change `--kv-cache-dtype`",
    ),
    "nvfp4_decode_backend": refusal(
        "nvfp4 KV decodes on trtllm_mha, not {backend}", "leave `--decode-attention-backend` unset"
    ),
    "nvfp4_ngram": refusal(
        "native nvfp4 KV verifies one chain only, and NGRAM drafts a tree",
        "change `--kv-cache-dtype` or `--speculative-algorithm`",
    ),
    "nvfp4_dflash": refusal(
        "native nvfp4 KV does not run with {algorithm}",
        "use EAGLE with its default draft backend, or change `--kv-cache-dtype`",
    ),
    "nvfp4_pd": refusal(
        "native nvfp4 KV cannot be sent between prefill and decode servers", "change `--kv-cache-dtype`"
    ),
    "nvfp4_host_cache": refusal(
        "native nvfp4 KV has no host copy", "drop the hierarchical cache, or change `--kv-cache-dtype`"
    ),
    "fp4_unified": refusal(
        "fp4 KV does not run with unified memory", "change `--kv-cache-dtype` or drop `--enable-unified-memory`"
    ),
    "fp4_mla_backend": refusal(
        "fp4 KV of a latent model needs flashinfer or trtllm_mla attention, not {backend}",
        "change `--attention-backend` or `--kv-cache-dtype`",
    ),
    "fp4_mha_backend": refusal(
        "fp4 KV needs triton, torch_native, flex_attention or trtllm_mha attention, not {backend}",
        "change `--attention-backend` or `--kv-cache-dtype`",
    ),
    "mxfp8_platform": refusal("mxfp8 KV needs a Blackwell card", "set `--kv-cache-dtype fp8_e4m3`"),
    "kv_dtype_unknown": refusal(
        "`--kv-cache-dtype` {dtype} is not known", "use auto, bfloat16, fp8_e4m3, fp8_e5m2, mxfp8 or nvfp4"
    ),
}
