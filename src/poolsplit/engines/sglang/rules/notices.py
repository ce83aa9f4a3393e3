"""What an answer must say about its own limits: options that the rules do not follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.loading import stops_loading

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_SM100 = 10


def add_notices(launch: Launch) -> None:
    """Warn where the engine goes on in a way that is not computed here."""
    launch.warnings.extend(launch.device.cautions)
    fraction = launch.flags.mem_fraction_static
    if fraction is not None and fraction > 1:
        launch.warnings.append(
            f"`--mem-fraction-static {fraction:g}` hands both pools more memory than is free: the engine sizes them "
            "so, and runs out of memory when it allocates them"
        )
    if launch.env_flag("SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"):
        launch.warnings.append(
            "KV pools sized after graph capture are not computed: the fraction and both pools differ from these"
        )
    flags = launch.flags
    for given, what in (
        (
            flags.speculative_adaptive,
            "adaptive speculation changes its draft tokens while it runs: the named ones count",
        ),
        (flags.enable_prefill_cp, "prefill context parallelism is counted only as far as `--attn-cp-size` says"),
        (flags.enable_kv_cache_sharding, "the scratch of KV cache sharding is not computed"),
        (flags.enable_hisparse, "the host pool of sparse attention is not computed"),
        (flags.cuda_graph_config, "`--cuda-graph-config` is not read: name the graph sizes by their own flags"),
        (flags.json_model_override_args, "`--json-model-override-args` is not read: give the changed config itself"),
    ):
        if given:
            launch.warnings.append(what)
    prefill = flags.linear_attn_prefill_backend or flags.linear_attn_backend
    if prefill == "flashinfer" and launch.sm_major >= _SM100:
        launch.warnings.append(
            "flashinfer prefill of linear attention needs CUDA 13 on this card, which is not checked"
        )
    stop = stops_loading(
        launch.shape.architecture,
        role=launch.role,
        radix_off=launch.disable_radix,
        buffered=launch.buffered,
        one_window_pool=bool(flags.disable_hybrid_swa_memory),
    )
    if stop:
        launch.warnings.append(stop)
    if _needs_kernel_folder(launch):
        launch.warnings.append(
            "this release refuses Kimi-K3 on this card unless SGLANG_TRTLLM_GEN_MOE_CUBIN_POOL names a folder of "
            "kernels, or `--moe-runner-backend` another runner"
        )


def _needs_kernel_folder(launch: Launch) -> bool:
    """Whether the machine must hold kernels that cannot be seen from here.

    Source: docs/reference/start-up.md#release-models.
    """
    return (
        launch.switches.kimi_k3_needs_kernel_folder
        and launch.sm_major == _SM100
        and launch.shape.architecture == "KimiK3ForConditionalGeneration"
        and launch.flags.moe_runner_backend in (None, "auto")
        and "SGLANG_TRTLLM_GEN_MOE_CUBIN_POOL" not in launch.env
    )
