"""Parallel layout: attention data parallelism, context parallelism, stages, and the servers' roles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.flag_sense import PARTITION
from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch


def split_attention(launch: Launch) -> None:
    """Attention replicas are groups inside the tensor-parallel ranks: `--attn-dp-size`, before `--dp-size`.

    Source: docs/reference/start-up.md#symbols. Without `--enable-dp-attention` the replicas are whole servers.
    """
    flags = launch.flags
    launch.attn_dp_size = flags.attn_dp_size
    if flags.enable_dp_attention and flags.attn_dp_size == 1:
        launch.attn_dp_size = flags.dp_size
    launch.attn_tp_size = flags.tp_size // launch.attn_dp_size // flags.attn_cp_size


def apply_role(launch: Launch) -> None:
    """A decode server keeps no radix cache unless told to.

    Source: docs/reference/start-up.md#prefill-and-decode.
    """
    if launch.role == "decode":
        launch.origins["disable_radix_cache"] = "a decode server keeps a radix cache only when told to"
        launch.disable_radix = not launch.flags.disaggregation_decode_enable_radix_cache
    if launch.flags.dcp_size < 1:
        raise refuse("dcp_size_not_positive", dcp_size=launch.flags.dcp_size)


def divide_prefill_chunk(launch: Launch) -> None:
    """Each attention replica prefills its share of the chunk; `f` and the graphs were sized for the whole one."""
    dp_size = launch.attn_dp_size
    if dp_size <= 1:
        return
    if launch.flags.dp_size > 1 and launch.flags.attn_dp_size > 1:
        raise refuse("replicas_of_both_kinds", replicas=launch.flags.dp_size, attention_replicas=dp_size)
    if launch.flags.tp_size % dp_size:
        raise refuse("dp_not_dividing", dp_size=dp_size, tp_size=launch.flags.tp_size)
    launch.chunked_prefill_size //= dp_size
    launch.origins["chunked_prefill_size"] = f"the whole chunk over {dp_size} attention replicas"


def check_layout(launch: Launch) -> None:
    """Context parallelism and expert exchange against the tensor-parallel ranks."""
    flags = launch.flags
    if flags.attn_cp_size > 1:
        if launch.shape.architecture in arch.NEMOTRON_H and launch.switches.nemotron_refuses_context_ranks:
            raise refuse("attention_cp_unsupported", architecture=launch.shape.architecture)
        ranks = launch.attn_dp_size * flags.attn_cp_size
        if flags.tp_size % ranks:
            raise refuse("attention_ranks_not_dividing", ranks=ranks, tp_size=flags.tp_size)
    if flags.tp_size % flags.ep_size:
        raise refuse(
            "expert_ranks_not_dividing", stage="solver[pp_rank=0]", ep_size=flags.ep_size, tp_size=flags.tp_size
        )
    if flags.enable_dp_lm_head and launch.attn_dp_size == 1 < flags.dp_size:
        raise refuse("dp_lm_head_alone")
    whole_dp = 1 < launch.attn_dp_size == flags.tp_size
    if flags.moe_a2a_backend == "flashinfer" and not whole_dp:
        raise refuse("a2a_needs_full_dp", tp_size=flags.tp_size)


def check_sharding(launch: Launch) -> None:
    """Each rank keeps a stripe of the KV rows: a prefill server can send those, and nobody can decode them."""
    if launch.flags.enable_kv_cache_sharding and launch.role != "prefill":
        raise refuse("kv_cache_sharding_role")


def check_encoder_split(launch: Launch) -> None:
    """Serving the language model apart from its encoders is for listed architectures."""
    flags, name = launch.flags, launch.shape.architecture
    if (flags.language_only or flags.encoder_only) and name not in arch.ENCODER_SPLIT:
        raise refuse("encoder_split_unsupported", architecture=name)


def stages_end_overlap(launch: Launch) -> None:
    """Pipeline stages switch the overlap schedule off, after the strategy was chosen.

    Source: docs/reference/start-up.md#slots-per-request.
    """
    if launch.flags.pp_size > 1:
        launch.disable_overlap = True
        launch.origins["disable_overlap_schedule"] = "pipeline stages run without overlap"


def layer_partition(launch: Launch) -> tuple[int, ...] | None:
    """Layers per stage that the environment names, when there are stages."""
    text = launch.env.get(PARTITION)
    if not text or launch.flags.pp_size <= 1:
        return None
    return tuple(int(part) for part in text.split(","))


_FEW_REQUESTS = 32


def decode_extra_slots(launch: Launch) -> int:
    """Request slots that a decode server keeps for requests in transfer: two a request while there are few.

    Source: docs/reference/start-up.md#prefill-and-decode. Counted from the request limit as asked for.
    """
    flags = launch.flags
    if launch.role != "decode":
        return 0
    if flags.disaggregation_decode_extra_slots is not None:
        return flags.disaggregation_decode_extra_slots
    if flags.max_running_requests is None:
        return 0
    per_worker = max(1, flags.max_running_requests // (launch.attn_dp_size * _replicas(launch)))
    return 2 * per_worker if per_worker <= _FEW_REQUESTS else 0


def _replicas(launch: Launch) -> int:
    """Whole servers behind one address: `--dp-size` without attention data parallelism."""
    return 1 if launch.flags.enable_dp_attention else launch.flags.dp_size
