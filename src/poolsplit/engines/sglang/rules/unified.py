"""Unified memory: what it does not run with.

Source: docs/reference/start-up.md#unified-memory and docs/engine-rules.md#releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules.attention import widths_differ

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_DCP_BACKENDS = frozenset({"flashinfer", "trtllm_mla", "cutedsl_mla"})


def check_page_layout(launch: Launch) -> None:
    """The page layout of unified memory runs on few kernels."""
    flags = launch.flags
    if not flags.enable_unified_memory:
        if flags.enable_page_major_kv_layout:
            raise refuse("unified_conflict", other="the page-major layout alone: it needs `--enable-unified-memory`")
        return
    allowed = launch.switches.unified_latent_backends if launch.uses_latent else launch.switches.unified_dense_backends
    if launch.switches.unified_needs_equal_widths and not launch.uses_latent and widths_differ(launch):
        raise refuse("unified_conflict", other="K and V heads of different widths")
    _require(launch, allowed)
    base = flags.linear_attn_backend or "triton"
    _require_state_kernel(launch, launch.linear_decode_backend or base, launch.switches.unified_state_backends)
    _require_state_kernel(launch, flags.linear_attn_prefill_backend or base, launch.switches.unified_state_prefill)
    if flags.mamba_backend not in (None, "triton"):
        raise refuse("unified_attention_backend", backends=f"state kernels on {flags.mamba_backend}")


def _require_state_kernel(launch: Launch, kernel: str, allowed: frozenset[str]) -> None:
    """Latent models run on two kernels more, from the release that opened the list."""
    if launch.uses_latent and len(allowed) > 1:
        allowed |= {"cutedsl", "helion"}
    if kernel not in allowed:
        raise refuse("unified_attention_backend", backends=f"linear attention on {kernel}")


def check_unified(launch: Launch) -> None:
    """Roles, speculation and context parallelism under unified memory."""
    flags = launch.flags
    if not flags.enable_unified_memory:
        return
    if launch.role != "null":
        _check_role(launch)
    _check_speculation(launch)
    if flags.enable_two_batch_overlap and launch.switches.unified_disables_full_graph:
        raise refuse("unified_conflict", other="two-batch overlap")
    if flags.enable_lmcache:
        raise refuse("unified_conflict", other="LMCache")
    if flags.enable_hierarchical_cache and not launch.switches.unified_with_host_cache:
        raise refuse("unified_conflict", other="the hierarchical cache")
    if flags.dcp_size > 1:
        _check_context_parallel(launch)
    _settle_graphs(launch)


def _check_role(launch: Launch) -> None:
    if not launch.switches.unified_on_roles:
        raise refuse("unified_conflict", other="prefill and decode servers")
    if launch.flags.pp_size != 1:
        raise refuse("unified_pd_pp", what="pipeline stages")
    if launch.speculation is not None and launch.switches.unified_roles_refuse_speculation:
        raise refuse("unified_pd_pp", what="speculation")


def _settle_graphs(launch: Launch) -> None:
    """Graphs that the page layout cannot capture: refused, or switched off after `f` was set."""
    switches = launch.switches
    if launch.prefill_graph != "disabled" and switches.unified_disables_prefill_graph:
        if launch.prefill_graph_locked:
            raise refuse("unified_conflict", other="a prefill graph")
        launch.prefill_graph = "disabled"
    ends_full = switches.unified_disables_full_graph
    if ends_full and launch.prefill_graph == "full" and not _backends(launch) <= {"fa3", "fa4"}:
        launch.prefill_graph = "disabled"
    if switches.unified_refuses_decode_graphs and launch.decode_backend == "trtllm_mha" and launch.decode_graphs:
        raise refuse("unified_decode_graphs")


def _check_speculation(launch: Launch) -> None:
    algorithm, switches = launch.speculation, launch.switches
    if algorithm is not None and algorithm not in switches.unified_algorithms:
        raise refuse("unified_speculation", algorithm=algorithm)
    if switches.unified_checks_topk and launch.spec_topk not in (None, 1):
        raise refuse("unified_topk", topk=launch.spec_topk)
    if algorithm in ("EAGLE", "EAGLE3"):
        if launch.shape.state is None and launch.shape.window is None:
            raise refuse("unified_speculation", algorithm=f"{algorithm} on a model without states or window layers")
        _require(launch, switches.unified_verify_latent if launch.uses_latent else switches.unified_verify_dense)
        drafts = {launch.draft_attention_backend} if launch.draft_attention_backend else _backends(launch)
        if not drafts <= switches.unified_verify_dense:
            raise refuse("unified_attention_backend", backends=f"drafts on {', '.join(sorted(drafts))}")
        if launch.flags.enable_hierarchical_cache:
            raise refuse("unified_conflict", other="EAGLE together with the hierarchical cache")
    elif algorithm == "DSPARK":
        _require(launch, switches.unified_dspark_backends)
    elif algorithm == "DFLASH":
        _require(launch, switches.unified_verify_dense)


def _check_context_parallel(launch: Launch) -> None:
    if not launch.switches.unified_with_dcp:
        raise refuse("unified_conflict", other="decode context parallelism")
    if not launch.uses_latent:
        raise refuse("unified_dcp_mla_only", where="latent attention only")
    if launch.role != "null":
        raise refuse("unified_dcp_mla_only", where="a plain server, neither prefill nor decode")
    if not _backends(launch) <= _DCP_BACKENDS:
        raise refuse("unified_dcp_mla_only", where="attention on flashinfer, trtllm_mla or cutedsl_mla")


def _backends(launch: Launch) -> set[str]:
    return {backend for backend in (launch.prefill_backend, launch.decode_backend) if backend is not None}


def _require(launch: Launch, allowed: frozenset[str]) -> None:
    backends = _backends(launch)
    if not backends <= allowed:
        raise refuse("unified_attention_backend", backends=", ".join(sorted(backends - allowed)))
