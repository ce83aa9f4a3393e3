"""Free memory once both pools stand: what the solver left, plus and minus what was allocated beside the reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.engines.engine import Buffer, Solution
    from poolsplit.engines.resolved_pools import StagePools


def free_after_pools_bytes(solution: Solution, after_weights_bytes: Sequence[int], buffers: Sequence[Buffer]) -> int:
    """Free bytes on the fullest stage after the pools, before graphs are captured.

    Args:
        solution: The solved pools.
        after_weights_bytes: Free after the weights, one a stage.
        buffers: What the engine allocates beside its reservation.

    Known error: request tables and small side pools are left out (some MiB).
    """
    overrun = sum(buffer.bytes - buffer.reserved_bytes for buffer in buffers)
    stages = solution.pools.stages
    return min(
        free - _state_bytes(solution, stage) - int(stage.kv_tokens * stage.kv_bytes_per_token) - overrun
        for free, stage in zip(after_weights_bytes, stages, strict=True)
    )


def _state_bytes(solution: Solution, stage: StagePools) -> int:
    """The state side of one stage as it is allocated: its own layers, one padding slot, verify scratch and rings."""
    state, geometry = stage.state, solution.pools.state
    if state is None or geometry is None:
        return 0
    charged = state.pool_bytes + state.verify_bytes
    if not geometry.layers or stage.state_layers is None:
        return charged
    own_slot = geometry.bytes_per_slot * stage.state_layers // geometry.layers
    return charged + (state.state_slots + 1) * own_slot - solution.charged_slots * geometry.charged_bytes_per_slot
