"""What a model family overrides before the general rules run.

Source: docs/reference/start-up.md#family-defaults. A value that the launch names is replaced only where the engine
replaces it (the Qwen page size on SM100, the sparse page size, the radix cache of MiniCPM).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch
from poolsplit.engines.sglang.rules.attention import default_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.sglang.rules.launch import Launch

DEFAULT_STATE_TO_KV_RATIO = 0.9
DEFAULT_SWA_RATIO = 0.8
INKLING_RATIO = 0.1
"""Of both ratios, in a family whose window layers and states are small beside its full attention."""

HOPPER = 9
SM100 = 10
SM120 = 12


def apply_family(launch: Launch) -> None:
    """Run the overrides of the launch's architecture, when it has any."""
    override = _OVERRIDES.get(launch.shape.architecture)
    if override is not None and launch.shape.architecture not in launch.switches.without_family_rules:
        override(launch)


def _qwen(launch: Launch) -> None:
    """SM100 cards: backend and page size come as a pair, also against an explicit page size."""
    if launch.sm_major != SM100 or launch.attention_backend is not None:
        return
    plain_no_buffer = not launch.buffered and not launch.disable_radix and launch.speculation is None
    paged = default_backend(launch) == "trtllm_mha" and not plain_no_buffer
    launch.attention_backend = "trtllm_mha" if paged else "triton"
    launch.page_size = 64 if paged else 1
    launch.origins["attention_backend"] = launch.origins["page_size"] = "this family on SM100, whatever page was asked"


def _qwen4(launch: Launch) -> None:
    """The compressed index needs pages of 64."""
    if launch.flags.enable_unified_memory:
        raise refuse("model_unsupported_by_unified", architecture=launch.shape.architecture)
    _qwen(launch)
    attention = launch.shape.attention
    if attention is not None and attention.index is not None:
        launch.page_size = 64
        launch.origins["page_size"] = "compressed index keys need pages of 64"


def _nemotron(launch: Launch) -> None:
    """Blackwell cards: paged attention with a buffered strategy on SM100, triton for trees and on SM120."""
    if not launch.switches.nemotron_paged:
        _sm100_backend("flashinfer")(launch)
        return
    if launch.backend_named or launch.sm_major not in (SM100, SM120):
        return
    on_sm100 = launch.sm_major == SM100
    if launch.speculation is None:
        if on_sm100:
            launch.attention_backend = "trtllm_mha"
            launch.origins["attention_backend"] = "Nemotron-H on SM100"
        return
    if not (on_sm100 and launch.spec_topk in (None, 1)):
        launch.attention_backend = "triton"
        launch.origins["attention_backend"] = "Nemotron-H with a draft tree, or on SM120"
        if launch.speculation in ("EAGLE", "NEXTN", "DFLASH", "DSPARK"):
            launch.draft_attention_backend = launch.draft_attention_backend or "flashinfer"
        return
    launch.attention_backend = "trtllm_mha"
    launch.origins["attention_backend"] = "Nemotron-H with speculation on SM100"
    if launch.page_size is None:
        launch.page_size = 64
        launch.origins["page_size"] = "Nemotron-H with speculation on SM100"
    if launch.strategy == "auto":
        launch.strategy = "extra_buffer"
        launch.origins["mamba_radix_cache_strategy"] = "Nemotron-H with speculation on SM100"
    if launch.speculation in ("EAGLE", "NEXTN", "DSPARK"):
        launch.draft_attention_backend = launch.draft_attention_backend or "trtllm_mha"


def _inkling(launch: Launch) -> None:
    """Small state and window pools, states always buffered, its own attention kernels."""
    early = launch.switches.default_value_counts_as_unset
    if launch.swa_ratio is None or (early and launch.swa_ratio == DEFAULT_SWA_RATIO):
        launch.swa_ratio = INKLING_RATIO
        launch.origins["swa_full_tokens_ratio"] = "Inkling's own default"
    if launch.ratio is None or (early and launch.ratio == DEFAULT_STATE_TO_KV_RATIO):
        launch.ratio = INKLING_RATIO
        launch.origins["mamba_full_memory_ratio"] = "Inkling's own default"
    if launch.strategy == "auto":
        launch.strategy = "extra_buffer"
        launch.origins["mamba_radix_cache_strategy"] = "Inkling always buffers states"
    launch.uses_state_radix = not launch.disable_radix and launch.switches.inkling_in_radix_lists
    if not launch.backend_named:
        hopper = launch.sm_major == HOPPER and launch.switches.inkling_fa4_on_hopper
        launch.attention_backend = "fa4" if hopper or launch.sm_major == SM100 else "triton"
        launch.origins["attention_backend"] = "Inkling runs on fa4 or triton"


def _kimi_k3(launch: Launch) -> None:
    """Latent attention kernels of its own under context parallelism and on SM100."""
    if launch.flags.dcp_size > 1:
        decode = launch.decode_backend
        if decode not in (None, "cutedsl_mla"):
            raise refuse("dcp_decode_backend", backend=decode)
        launch.prefill_attention_backend = "trtllm_mla"
        launch.decode_attention_backend = "cutedsl_mla"
        launch.origins["decode_attention_backend"] = "Kimi-K3 under decode context parallelism"
    elif launch.sm_major == SM100 and not launch.backend_named:
        launch.prefill_attention_backend = launch.decode_attention_backend = "trtllm_mla"
        launch.origins["decode_attention_backend"] = "Kimi-K3 on SM100"
    _kimi_kernels(launch)


def _kimi_kernels(launch: Launch) -> None:
    """On SM100: bfloat16 state decodes on triton, DSPARK drafts on paged attention."""
    if not launch.switches.kimi_kernel_defaults:
        return
    if launch.speculation is not None:
        launch.linear_verify_backend = launch.linear_verify_backend or "nv_cutedsl"
    if launch.sm_major != SM100:
        return
    if launch.mamba_ssm_dtype == "bfloat16":
        launch.linear_decode_backend = launch.linear_decode_backend or "triton"
    if launch.speculation == "DSPARK":
        launch.draft_attention_backend = launch.draft_attention_backend or "trtllm_mha"


def _sm100_backend(backend: str) -> Callable[[Launch], None]:
    """Override that names one attention backend on SM100 cards."""

    def override(launch: Launch) -> None:
        if launch.sm_major == SM100 and launch.attention_backend is None:
            launch.attention_backend = backend
            launch.origins["attention_backend"] = "this family on SM100"

    return override


def _granite(launch: Launch) -> None:
    if launch.shape.state is not None:
        _sm100_backend("flashinfer")(launch)


def _minicpm(launch: Launch) -> None:
    """No attention data parallelism; a hybrid one keeps no radix cache, a sparse one has kernels of its own."""
    if launch.replicas_asked:
        raise refuse("minicpm_dp")
    if launch.shape.state is None:
        return
    if launch.flags.enable_hierarchical_cache:
        raise refuse("hicache_unsupported_model", architecture=launch.shape.architecture)
    launch.disable_radix = True
    launch.origins["disable_radix_cache"] = "a hybrid MiniCPM keeps no radix cache"
    if ("sparse_config", True) in launch.shape.extra and not launch.backend_named:
        blackwell = launch.sm_major in (SM100, SM120)
        launch.attention_backend = "minicpm_flashinfer" if blackwell else "minicpm_flashattn"
        launch.origins["attention_backend"] = "MiniCPM's own sparse attention"


def _glm5_next(launch: Launch) -> None:
    """Sparse latent attention: pages of 64, KV dtype by card, kernels of its own."""
    attention = launch.shape.attention
    if attention is None or attention.index is None:
        return
    if not launch.backend_named:
        launch.attention_backend = "dsa"
        launch.origins["attention_backend"] = "sparse latent attention"
    launch.page_size = 64 * attention.index.tokens_per_key
    launch.origins["page_size"] = "sparse latent attention needs pages of 64 index keys"
    if launch.speculation is not None and launch.sm_major == SM100:
        launch.linear_verify_backend = launch.linear_verify_backend or "nv_cutedsl"
    dtype = launch.kv_cache_dtype
    if dtype == "auto":
        launch.origins["kv_cache_dtype"] = "sparse latent attention: fp8_e4m3 from SM100 on, bfloat16 before"
        dtype = "fp8_e4m3" if launch.sm_major >= SM100 else "bfloat16"
    elif dtype == "bf16":
        dtype = "bfloat16"
    if dtype not in ("bfloat16", "fp8_e4m3"):
        raise refuse("dsa_kv_dtype", dtype=dtype)
    launch.kv_cache_dtype = dtype


_OVERRIDES: dict[str, Callable[[Launch], None]] = {
    **dict.fromkeys(arch.QWEN_HYBRID, _qwen),
    **dict.fromkeys(arch.NEMOTRON_H, _nemotron),
    **dict.fromkeys(arch.INKLING, _inkling),
    **dict.fromkeys(arch.FALCON_AND_JET, _sm100_backend("triton")),
    **dict.fromkeys(arch.LFM2, _sm100_backend("flashinfer")),
    **dict.fromkeys(arch.MINICPM, _minicpm),
    arch.QWEN4_EXP: _qwen4,
    arch.GRANITE: _granite,
    arch.GLM5_NEXT: _glm5_next,
    "KimiK3ForConditionalGeneration": _kimi_k3,
    "KimiLinearForCausalLM": _kimi_kernels,
}


def check_family(launch: Launch) -> None:
    """Models that may not start with an attention layer, which the triton backend needs."""
    name = launch.shape.architecture
    if launch.attention_backend == "triton" and name in arch.LFM2 - launch.switches.without_family_rules:
        raise refuse("lfm2_triton")
    if launch.attention_backend == "triton" and name in arch.NEMOTRON_H and launch.switches.nemotron_refuses_triton:
        raise refuse("nemotron_triton")
