"""How one launch divides a model: layer ranges of the pipeline stages, and the ranks that share heads and state."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape

GLOBAL_WIDTH_ARCHITECTURES = frozenset(
    {"MambaForCausalLM", "FalconMambaForCausalLM", "Mamba2ForCausalLM", "ZayaForCausalLM"}
)
"""Architectures whose state is split over all tensor-parallel ranks, attention data parallelism or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRange:
    """Layers `start` to `end` (excluded) of one pipeline stage."""

    start: int
    end: int

    def count(self, layer_ids: tuple[int, ...]) -> int:
        """How many of the given layers, in ascending order, lie on this stage."""
        return bisect_left(layer_ids, self.end) - bisect_left(layer_ids, self.start)

    def of(self, layer_ids: tuple[int, ...]) -> tuple[int, ...]:
        """The given layers, in ascending order, that lie on this stage."""
        return layer_ids[bisect_left(layer_ids, self.start) : bisect_left(layer_ids, self.end)]


@lru_cache(maxsize=256)
def stage_ranges(layers: int, pp_size: int, partition: tuple[int, ...] | None = None) -> tuple[StageRange, ...]:
    """Layer ranges of all pipeline stages: a given partition, else equal shares with the remainder on the last ones.

    Raises:
        LaunchRefusedError: The partition does not add up to the model's layers, or has the wrong length.

    Source: the engine's pipeline indices; `tests/unit/engines/sglang/test_shards.py`.
    """
    if partition is not None and pp_size > 1:
        sizes = list(_checked_partition(layers, pp_size, partition))
    else:
        share, remainder = divmod(layers, pp_size)
        sizes = [share + (stage >= pp_size - remainder) for stage in range(pp_size)]
    ranges, start = [], 0
    for size in sizes:
        ranges.append(StageRange(start=start, end=start + size))
        start += size
    return tuple(ranges)


def state_width(shape: ModelShape, resolved: ResolvedFlags) -> int:
    """Ranks over which the recurrent state is split."""
    return resolved.tp_size if shape.architecture in GLOBAL_WIDTH_ARCHITECTURES else resolved.attn_tp_size


def kv_head_width(resolved: ResolvedFlags, switches: Switches) -> int:
    """Ranks over which KV heads are split: decode context parallelism keeps a copy on each of its ranks.

    0 where there are more context ranks than attention ranks; only rows with heads are divided by it.
    """
    return resolved.attn_tp_size // (resolved.dcp_size if switches.dcp_shrinks_heads else 1)


def widest_stage_scale(shape: ModelShape, ranges: tuple[StageRange, ...], switches: Switches) -> float:
    """Share of the model's state layers that every rank is charged for, as the engine's own rounded float."""
    total = len(shape.state_layer_ids)
    if not switches.charge_widest_stage:
        return 1.0
    widest = max(stage.count(shape.state_layer_ids) for stage in ranges) if len(ranges) > 1 and total else total
    return widest / max(total, 1)


def _checked_partition(layers: int, pp_size: int, partition: tuple[int, ...]) -> tuple[int, ...]:
    if len(partition) != pp_size or sum(partition) != layers:
        raise refuse("pp_partition_sum", stage="solver[pp_rank=0]", figures={"sum": sum(partition), "layers": layers})
    return partition
