"""The KV dtype: what a row is priced at, and where the narrow ones run.

Source: docs/reference/start-up.md#kv-bytes and docs/reference/start-up.md#checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

FP4 = frozenset({"nvfp4", "fp4_mx_block16"})
_SM100 = 10
_BLACKWELL = (10, 12)
_NVFP4_PREFILL = ("flashinfer", "trtllm_mha")
_FP4_LATENT_BACKENDS = ("flashinfer", "trtllm_mla")
_FP4_DENSE_BACKENDS = ("triton", "torch_native", "flex_attention", "trtllm_mha")
_COMPUTE_DTYPES = {
    "bfloat16": "bfloat16",
    "float16": "float16",
    "half": "float16",
    "float32": "float32",
    "float": "float32",
}
_NARROW = frozenset({"fp8_e4m3", "fp8_e5m2", "mxfp8"}) | FP4


def choose_nvfp4_backends(launch: Launch) -> None:
    """nvfp4 KV decodes on trtllm_mha, and prefills natively on SM100, through fp8 elsewhere."""
    if launch.kv_cache_dtype != "nvfp4" or not launch.switches.nvfp4_chooses_backends:
        return
    explicit = launch.prefill_backend
    if explicit is None:
        explicit = "trtllm_mha" if launch.sm_major == _SM100 else "flashinfer"
    if explicit not in _NVFP4_PREFILL or (explicit == "trtllm_mha" and launch.sm_major != _SM100):
        raise refuse("nvfp4_prefill_backend", backend=explicit)
    if launch.decode_attention_backend not in (None, "trtllm_mha"):
        raise refuse("nvfp4_decode_backend", backend=launch.decode_attention_backend)
    launch.prefill_attention_backend = explicit
    launch.decode_attention_backend = "trtllm_mha"


def check_fp4(launch: Launch) -> None:
    """Where 4-bit KV runs."""
    dtype = launch.kv_cache_dtype
    if dtype not in FP4:
        return
    if dtype == "nvfp4" and launch.sm_major not in _BLACKWELL:
        raise refuse("nvfp4_platform")
    if launch.switches.nvfp4_chooses_backends:
        if launch.flags.enable_unified_memory:
            raise refuse("fp4_unified")
        if native_fp4_layout(launch):
            _check_native_nvfp4(launch)
    _check_fp4_backend(launch)


def _check_native_nvfp4(launch: Launch) -> None:
    """What the native kernel of SM100 does not combine with."""
    algorithm = launch.speculation
    if algorithm in ("DFLASH", "DSPARK", "STANDALONE"):
        raise refuse("nvfp4_dflash", algorithm=algorithm)
    if algorithm == "NGRAM" and launch.flags.speculative_ngram_max_bfs_breadth != 1:
        raise refuse("nvfp4_ngram")
    if algorithm not in (None, "NGRAM"):
        draft = launch.draft_attention_backend or "trtllm_mha"
        if draft != "trtllm_mha":
            raise refuse("nvfp4_dflash", algorithm=f"{algorithm} drafting on {draft} attention")
        launch.draft_attention_backend = draft
    if launch.role != "null":
        raise refuse("nvfp4_pd")
    if launch.flags.enable_hierarchical_cache or launch.flags.enable_lmcache:
        raise refuse("nvfp4_host_cache")


def _check_fp4_backend(launch: Launch) -> None:
    on_fa4 = launch.prefill_backend == "fa4"
    if launch.prefill_backend != launch.decode_backend and not on_fa4:
        return
    backend = launch.decode_backend if on_fa4 else launch.attention_backend
    allowed, reason = (
        (_FP4_LATENT_BACKENDS, "fp4_mla_backend") if launch.uses_latent else (_FP4_DENSE_BACKENDS, "fp4_mha_backend")
    )
    if backend not in allowed:
        raise refuse(reason, backend=backend)


def check_mxfp8(launch: Launch) -> None:
    """Block-scaled fp8 needs Blackwell."""
    if launch.kv_cache_dtype == "mxfp8" and launch.sm_major not in _BLACKWELL:
        raise refuse("mxfp8_platform")


def priced_dtype(launch: Launch) -> str:
    """Dtype that a KV row is priced at.

    `auto` is the model's own dtype, or fp8_e4m3 where the checkpoint declares fp8 KV.
    """
    asked = launch.kv_cache_dtype
    if asked == "auto":
        return "fp8_e4m3" if _declares_fp8(launch) else _model_dtype(launch)
    if asked in ("bf16", "bfloat16"):
        return "bfloat16"
    if asked in _NARROW:
        return asked
    raise refuse("kv_dtype_unknown", dtype=asked)


def recorded_dtype(launch: Launch) -> str:
    """The KV dtype as the arguments record it."""
    asked = launch.kv_cache_dtype
    if asked == "auto" and launch.switches.writes_back_kv_dtype and _declares_fp8(launch):
        return "fp8_e4m3"
    return asked


def _declares_fp8(launch: Launch) -> bool:
    return launch.shape.kv_quant_dtype == "fp8_e4m3"


def _model_dtype(launch: Launch) -> str:
    """Dtype that the model computes in."""
    asked = launch.flags.dtype
    if asked is None or asked.lower() == "auto":
        return _served_dtype(launch.shape.dtype)
    named = _COMPUTE_DTYPES.get(asked.lower())
    if named is None:
        raise UsageError(f"`{asked}` is not a value of `--dtype`", hint=f"use auto, {', '.join(_COMPUTE_DTYPES)}")
    return named


def _served_dtype(config_dtype: str) -> str:
    """A config in float32, or without any dtype, is served in float16."""
    return "float16" if config_dtype == "float32" else config_dtype


def draft_priced_dtype(launch: Launch) -> str | None:
    """Dtype of a draft's own KV rows (DFLASH, DSPARK): its worker resolves it alone; fa4 keeps the compute dtype."""
    draft = launch.draft
    if draft is None or launch.speculation not in ("DFLASH", "DSPARK"):
        return None
    if launch.draft_attention_backend == "fa4":
        return _served_dtype(draft.dtype)
    asked = launch.flags.speculative_draft_kv_cache_dtype or launch.kv_cache_dtype
    if asked == "auto":
        return _served_dtype(draft.dtype)
    return "bfloat16" if asked == "bf16" else asked


def native_fp4_layout(launch: Launch) -> bool:
    """Whether nvfp4 block scales are also kept in the layout of the SM100 kernel."""
    backends = (launch.prefill_backend, launch.decode_backend)
    return launch.kv_cache_dtype == "nvfp4" and launch.sm_major == _SM100 and "trtllm_mha" in backends


def scaled_latent_rows(launch: Launch) -> bool:
    """Whether sparse latent rows in fp8 carry block scales; the raw layouts of trtllm and tilelang do not."""
    attention = launch.shape.attention
    if launch.kv_cache_dtype != "fp8_e4m3" or attention is None or attention.index is None or not launch.uses_latent:
        return False
    flags = launch.flags
    by_card = "trtllm" if launch.sm_major >= _SM100 or flags.dcp_size > 1 else "flashmla_kv"
    prefill, decode = flags.dsa_prefill_backend or by_card, flags.dsa_decode_backend or by_card
    return "trtllm" not in (prefill, decode) and (prefill, decode) != ("tilelang", "tilelang")
