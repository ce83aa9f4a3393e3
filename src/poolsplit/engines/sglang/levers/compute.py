"""Levers of how a step is computed: speculation, replayed states, parallel ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.engines.engine import Lever
from poolsplit.engines.sglang.flag_sense import PARTITION
from poolsplit.engines.sglang.partition import undominated_partitions
from poolsplit.shapes.model_shape import GatedDeltaNet, KimiDelta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.shapes.model_shape import ModelShape


_NO_SPECULATION: dict[str, Any] = {
    "speculative_algorithm": None,
    "speculative_num_steps": None,
    "speculative_eagle_topk": None,
    "speculative_num_draft_tokens": None,
    "enable_linear_replayssm_spec": None,
}


def speculation_levers(shape: ModelShape, resolved: ResolvedFlags) -> Iterator[Lever]:
    """Speculation switched off, shortened, or with its draft priced."""
    if resolved.speculative_algorithm is None:
        return
    yield Lever(name="speculation_off", changes=_NO_SPECULATION, risk="speed: one token a step")
    drafts = resolved.speculative_num_draft_tokens or 0
    if drafts > 2 and resolved.speculative_algorithm in {"EAGLE", "EAGLE3", "NEXTN"}:  # noqa: PLR2004 -- the least
        fewer = max(2, drafts // 2)
        yield Lever(
            name="fewer_draft_tokens",
            changes={
                "speculative_num_draft_tokens": fewer,
                "speculative_num_steps": fewer - 1,
                "speculative_eagle_topk": 1,
            },
            risk="speed: shorter drafts",
        )
    if not resolved.eagle_draft_layers and shape.draft_layers:
        yield Lever(
            name="own_draft_path",
            changes={"speculative_draft_model_path": shape.name},
            risk="memory: the draft's KV rows, allocated all the same, are now reserved",
        )


def replay_levers(shape: ModelShape, resolved: ResolvedFlags) -> Iterator[Lever]:
    """States rebuilt from rings instead of kept."""
    if not isinstance(shape.state, GatedDeltaNet | KimiDelta):
        return
    if resolved.speculative_algorithm is not None and not resolved.enable_linear_replayssm_spec:
        yield Lever(
            name="replay_verify",
            changes={"enable_linear_replayssm_spec": True},
            risk="speed: states are rebuilt from a ring; memory: its convolution windows are not reserved",
        )
    if not resolved.enable_linear_replayssm and resolved.speculative_algorithm is None:
        yield Lever(
            name="replay_decode",
            changes={
                "enable_linear_replayssm": True,
                "mamba_radix_cache_strategy": "no_buffer",
                "disable_overlap_schedule": True,
            },
            risk="reuse can go to 0: it forces no_buffer; memory: its rings are not reserved",
        )


def parallel_levers(shape: ModelShape, flags: Flags, resolved: ResolvedFlags) -> Iterator[Lever]:
    """Other ways of sharing the layers between the cards."""
    if flags.tp_size > 1 and resolved.attn_dp_size == 1 and resolved.dcp_size == 1:
        yield Lever(
            name="attention_dp",
            changes={"enable_dp_attention": True, "dp_size": flags.tp_size},
            risk="weights: every rank keeps the attention weights whole, which is not priced; each replica has its own "
            "cache, so a prefix is reused only where it went before",
        )
    elif resolved.attn_dp_size > 1:
        yield Lever(
            name="attention_tp",
            changes={"enable_dp_attention": None, "dp_size": None},
            risk="speed: attention heads are split again; one cache for all",
        )
    if resolved.dcp_size == 1 and flags.tp_size > 1 and shape.is_latent:
        yield Lever(
            name="context_parallel",
            changes={"dcp_size": flags.tp_size},
            risk="speed: one more exchange a layer; platform: backends that take it",
        )
    if flags.pp_size > 1:
        for partition in undominated_partitions(shape, flags.pp_size):
            if partition != resolved.pp_layer_partition:
                yield Lever(
                    name="stage_partition",
                    changes={PARTITION: ",".join(map(str, partition))},
                    risk="speed: stages of unequal length; weights are taken to follow the layers, all as heavy",
                )
