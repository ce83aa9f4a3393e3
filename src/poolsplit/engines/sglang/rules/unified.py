"""Unified memory: what it does not run with.

Source: start-up solver, section 13; releases, section 1 (switches 20 and 23).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_ALGORITHMS = (None, "DSPARK", "EAGLE", "EAGLE3", "DFLASH")
_LATENT_BACKENDS = frozenset({"triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "flashmla"})
_DENSE_BACKENDS = frozenset({"triton", "fa3", "fa4", "flashinfer", "trtllm_mha"})
_VERIFY_LATENT = frozenset({"triton", "trtllm_mla", "cutedsl_mla", "flashmla", "flashinfer", "fa3"})
_VERIFY_DENSE = frozenset({"triton", "flashinfer", "fa3", "trtllm_mha"})
_DCP_BACKENDS = frozenset({"flashinfer", "trtllm_mla", "cutedsl_mla"})
_STATE_DECODE = frozenset({"triton", "flashinfer"})


def check_page_layout(launch: Launch) -> None:
    """The page layout of unified memory runs on few kernels."""
    flags = launch.flags
    if not flags.enable_unified_memory:
        if flags.enable_page_major_kv_layout:
            raise refuse("unified_conflict", other="the page-major layout alone: it needs `--enable-unified-memory`")
        return
    allowed = launch.switches.unified_latent_backends if launch.uses_latent else launch.switches.unified_dense_backends
    _require(launch, allowed)
    state_kernel = launch.linear_decode_backend or flags.linear_attn_backend or "triton"
    latent_extra = {"cutedsl", "helion"} if launch.uses_latent else set()
    if state_kernel not in _STATE_DECODE | latent_extra:
        raise refuse("unified_attention_backend", backends=f"linear attention on {state_kernel}")
    if flags.mamba_backend not in (None, "triton"):
        raise refuse("unified_attention_backend", backends=f"state kernels on {flags.mamba_backend}")


def check_unified(launch: Launch) -> None:
    """Roles, speculation and context parallelism under unified memory."""
    flags = launch.flags
    if not flags.enable_unified_memory:
        return
    if launch.role != "null":
        if flags.pp_size != 1:
            raise refuse("unified_pd_pp")
        if launch.speculation is not None:
            raise refuse("unified_conflict", other="speculation on a prefill or decode server")
    _check_speculation(launch)
    if flags.enable_lmcache:
        raise refuse("unified_conflict", other="LMCache")
    if flags.dcp_size > 1:
        _check_context_parallel(launch)
    if launch.switches.unified_refuses_decode_graphs and _window_pool(launch) and launch.decode_graphs:
        raise refuse("unified_decode_graphs")
    if launch.prefill_graph == "full" and not _backends(launch) <= {"fa3", "fa4"}:
        launch.prefill_graph = "disabled"


def _check_speculation(launch: Launch) -> None:
    algorithm = launch.speculation
    if algorithm not in _ALGORITHMS:
        raise refuse("unified_speculation", algorithm=algorithm)
    if launch.spec_topk not in (None, 1):
        raise refuse("unified_topk", topk=launch.spec_topk)
    if algorithm in ("EAGLE", "EAGLE3"):
        _require(launch, _VERIFY_LATENT if launch.uses_latent else _VERIFY_DENSE)
        drafts = {launch.draft_attention_backend} if launch.draft_attention_backend else _backends(launch)
        if not drafts <= _VERIFY_DENSE:
            raise refuse("unified_attention_backend", backends=f"drafts on {', '.join(sorted(drafts))}")
        if launch.flags.enable_hierarchical_cache:
            raise refuse("unified_conflict", other="EAGLE together with the hierarchical cache")
    elif algorithm == "DSPARK":
        _require(launch, _VERIFY_LATENT | {"fa4"})
    elif algorithm == "DFLASH":
        _require(launch, _VERIFY_DENSE)


def _check_context_parallel(launch: Launch) -> None:
    if not launch.uses_latent:
        raise refuse("unified_dcp_mla_only")
    if launch.role != "null":
        raise refuse("unified_dcp_pd")
    _require(launch, _DCP_BACKENDS)


def _window_pool(launch: Launch) -> bool:
    return launch.shape.window is not None and not launch.flags.disable_hybrid_swa_memory


def _backends(launch: Launch) -> set[str]:
    return {backend for backend in (launch.prefill_backend, launch.decode_backend) if backend is not None}


def _require(launch: Launch, allowed: frozenset[str]) -> None:
    backends = _backends(launch)
    if not backends <= allowed:
        raise refuse("unified_attention_backend", backends=", ".join(sorted(backends - allowed)))
