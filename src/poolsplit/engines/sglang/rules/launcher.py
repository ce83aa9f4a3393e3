"""The launcher's second validation: it refuses launches that the solver would answer.

Source: docs/reference/start-up.md#release-launcher. An answer that the launcher refuses is never a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import LAUNCHER, refuse

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch
    from poolsplit.errors import LaunchRefusedError


def second_validation(launch: Launch) -> LaunchRefusedError | None:
    """The launcher's refusal, or None."""
    flags = launch.flags
    if flags.tp_size * flags.pp_size % flags.nnodes:
        return refuse("nodes_not_dividing", stage=LAUNCHER, ranks=flags.tp_size * flags.pp_size, nodes=flags.nnodes)
    if flags.pp_max_micro_batch_size is not None and flags.pp_max_micro_batch_size < 1:
        return refuse("micro_batch_size", stage=LAUNCHER, value=flags.pp_max_micro_batch_size)
    if flags.pp_size > 1 and launch.speculation is not None and not _may_speculate_in_stages(launch):
        return refuse("pp_with_speculation", stage=LAUNCHER)
    if flags.dp_size > 1 and not flags.enable_dp_attention and flags.nnodes != 1:
        return refuse("data_parallel_nodes", stage=LAUNCHER)
    chunk, page = launch.chunked_prefill_size, launch.page_size or 1
    if chunk > 0 and launch.role != "decode" and chunk % page:
        return refuse("chunk_page", stage=LAUNCHER, chunk=chunk, page_size=page)
    return None


def _may_speculate_in_stages(launch: Launch) -> bool:
    """From 0.5.21 on: on prefill servers, or EAGLE by an opt-in of the environment."""
    if not launch.switches.stages_may_speculate:
        return False
    opted_in = launch.env_flag("SGLANG_ENABLE_PP_SPEC")
    if launch.speculation == "DSPARK":
        return launch.role == "prefill" and not opted_in
    if launch.speculation != "EAGLE" or _multi_layer_eagle(launch):
        return False
    if opted_in:
        return launch.role == "null" and launch.attn_dp_size == 1 and not launch.flags.speculative_adaptive
    return launch.role == "prefill"


def _multi_layer_eagle(launch: Launch) -> bool:
    """GigaChat drafts with several prediction layers."""
    return launch.shape.architecture == "GigaChat35ForCausalLM"
