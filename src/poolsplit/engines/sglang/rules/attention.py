"""The attention backend, and the page size and KV dtypes that it allows.

Source: docs/reference/start-up.md#attention-backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch
from poolsplit.shapes.model_shape import FullAttention, LatentAttention

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_HOPPER = 9
_SM100 = 10
_SM120 = 12
_DETERMINISTIC = ("fa3", "fa4", "flashinfer", "triton")
_DETERMINISTIC_WITH_RADIX = ("fa3", "fa4", "triton")
_PAGED_MLA_PAGES = (32, 64)
_AITER_SHORT_CONTEXT = 8192
_AITER_SHARE = 0.85
_AITER_LATENT_HEADS = (16, 128)


def default_backend(launch: Launch) -> str:
    """The backend that no family rule and no flag names."""
    if launch.device.rocm:
        return _rocm_backend(launch)
    major = launch.sm_major
    if launch.uses_latent:
        return {_HOPPER: "fa3", _SM100: "flashinfer"}.get(major, "triton")
    one_chain = launch.spec_topk is None or (launch.spec_topk == 1 and launch.page_size in (None, 1))
    if major == _HOPPER and one_chain:
        return "fa3"
    if major == _SM100 and one_chain and _topk_known(launch):
        return "fa4" if widths_differ(launch) else "trtllm_mha"
    return "flashinfer"


def _rocm_backend(launch: Launch) -> str:
    """AMD's kernels, which take latent attention with 16 or 128 heads a rank and no other."""
    attention = launch.shape.attention
    if not isinstance(attention, LatentAttention):
        return "aiter"
    return "aiter" if max(1, attention.heads // launch.flags.tp_size) in _AITER_LATENT_HEADS else "triton"


def _topk_known(launch: Launch) -> bool:
    """Whether the number of draft branches is settled before speculation is resolved."""
    if launch.speculation is None or launch.spec_topk is not None:
        return True
    return launch.speculation == "DFLASH" and launch.switches.dflash_counts_as_one_chain


def widths_differ(launch: Launch) -> bool:
    """Whether K and V heads have different widths, in full or in window layers."""
    attention = launch.shape.attention
    window = launch.shape.window
    full = isinstance(attention, FullAttention) and attention.head_dim != attention.v_head_dim
    return full or (window is not None and window.head_dim != window.v_head_dim)


def settle_deterministic(launch: Launch) -> None:
    """Deterministic inference runs on few kernels, and keeps the radix cache on fewer.

    The strategy was settled before: it stands, and costs nothing without a cache.
    """
    if not launch.flags.enable_deterministic_inference:
        return
    backend = launch.attention_backend
    if backend is None:
        backend = launch.attention_backend = "flashinfer" if launch.sm_major in (_SM100, _SM120) else "fa3"
        launch.origins["attention_backend"] = "deterministic inference, by card"
    elif backend not in _DETERMINISTIC:
        raise refuse("deterministic_backend", backend=backend, known=", ".join(_DETERMINISTIC))
    if backend not in _DETERMINISTIC_WITH_RADIX:
        if launch.shape.architecture == arch.GLM5_NEXT:
            raise refuse("deterministic_backend", backend=backend, known=", ".join(_DETERMINISTIC_WITH_RADIX))
        launch.disable_radix = True
        launch.origins["disable_radix_cache"] = f"deterministic inference keeps no radix cache on {backend}"


def settle_backend(launch: Launch) -> None:
    """Fill in the default backend, then the page size and KV dtype rules of the final ones."""
    prefill = launch.prefill_attention_backend
    if prefill is not None and prefill == launch.decode_attention_backend:
        launch.attention_backend = prefill
    elif launch.attention_backend is None:
        launch.attention_backend = default_backend(launch)
        launch.origins["attention_backend"] = "the default for this card, attention and speculation"
    _force_page_size(launch)
    _check_latent_kernels(launch)
    _check_paged_mha_card(launch)
    if launch.attention_backend == "fa3" and launch.kv_cache_dtype == "fp8_e5m2":
        launch.attention_backend = "triton"
        launch.origins["attention_backend"] = "fa3 takes no fp8_e5m2 KV"
    _force_fa4_page(launch)
    _leave_room_for_aiter(launch)


def _backends(launch: Launch) -> tuple[str | None, str | None, str | None]:
    """Attention as it stands so far: in general, for prefill, for decode."""
    return launch.attention_backend, launch.prefill_attention_backend, launch.decode_attention_backend


def _force_page_size(launch: Launch) -> None:
    """Rewrite a page size that a backend does not take; later rows see what earlier ones wrote."""
    base, prefill, decode = _backends(launch)
    page = launch.page_size
    if "flashmla" in (base, decode):
        page = 64
    if "trtllm_mla" in (base, decode) and page not in _PAGED_MLA_PAGES:
        page = 64
    if "cutedsl_mla" in (base, prefill, decode) and page not in _PAGED_MLA_PAGES:
        page = 64
    drafts = launch.draft_attention_backend if launch.switches.paged_mha_counts_drafts else None
    if "trtllm_mha" in (base, prefill, decode, drafts) and page not in launch.switches.paged_mha_pages:
        page = 64
    if "hpc_ops" in (base, prefill, decode):
        page = 64
    if page != launch.page_size:
        launch.page_size = page
        launch.origins["page_size"] = f"a page that {decode or base} attention takes"


def _check_latent_kernels(launch: Launch) -> None:
    """Cards and KV dtypes that the latent kernels take."""
    base, prefill, decode = _backends(launch)
    dtype = launch.kv_cache_dtype
    if "trtllm_mla" in (base, decode):
        if launch.sm_major not in (10, 12):
            raise refuse("trtllm_mla_platform")
        if dtype not in launch.switches.trtllm_mla_kv_dtypes:
            raise refuse("trtllm_mla_kv_dtype", dtype=dtype)
    if "cutedsl_mla" in (base, prefill, decode):
        if prefill == "cutedsl_mla":
            raise refuse("cutedsl_prefill")
        if launch.sm_major != _SM100:
            raise refuse("cutedsl_platform")
        if dtype not in ("fp8_e4m3", "bf16", "bfloat16", "auto"):
            raise refuse("cutedsl_kv_dtype", dtype=dtype)
        if prefill is None:
            launch.prefill_attention_backend = "trtllm_mla"


def _check_paged_mha_card(launch: Launch) -> None:
    """Cards that paged attention runs on; prefill had SM100 alone at first."""
    extended = launch.switches.paged_prefill_checks
    if launch.prefill_backend == "trtllm_mha":
        if launch.sm_major not in ((_HOPPER, _SM100, _SM120) if extended else (_SM100,)):
            raise refuse("trtllm_mha_platform")
        if extended and launch.sm_major == _SM120 and launch.kv_cache_dtype == "fp8_e4m3":
            raise refuse("trtllm_mha_fp8_prefill")
    if launch.decode_backend == "trtllm_mha" and launch.sm_major not in (_HOPPER, _SM100, _SM120):
        raise refuse("trtllm_mha_platform")
    ranks = launch.flags.attn_cp_size
    if extended and ranks > 1 and launch.prefill_backend == "trtllm_mha" and launch.sm_major != _SM100:
        raise refuse("trtllm_mha_context_parallel")


def _force_fa4_page(launch: Launch) -> None:
    """fa4 on SM100 pages by 128 for dense attention without a draft tree."""
    names = (launch.attention_backend, launch.prefill_attention_backend, launch.decode_attention_backend)
    if "fa4" in names and not launch.uses_latent and launch.sm_major == _SM100 and (launch.spec_topk or 0) <= 1:
        launch.page_size = 128
        launch.origins["page_size"] = "fa4 attention on SM100 pages by 128"


def _leave_room_for_aiter(launch: Launch) -> None:
    """Over long contexts aiter works outside the pools: the static share shrinks, a given one too."""
    if launch.attention_backend != "aiter" or launch.context_len <= _AITER_SHORT_CONTEXT:
        return
    given = launch.flags.mem_fraction_static is not None
    may_stand = launch.switches.aiter_may_keep_fraction and given
    if may_stand and launch.env_flag("SGLANG_AITER_HONOR_EXPLICIT_MEM_FRACTION"):
        return
    launch.mem_fraction_static *= _AITER_SHARE
    before = "--mem-fraction-static" if given else launch.origins["mem_fraction_static"]
    launch.origins["mem_fraction_static"] = f"{before}, times {_AITER_SHARE} for aiter over long contexts"


def default_page_size(launch: Launch) -> None:
    """A page is one token unless something said otherwise."""
    if launch.page_size is None:
        launch.page_size = 1
