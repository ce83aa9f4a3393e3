"""What could be changed about a launch besides the split, as data: flags and what they cost.

Nothing is priced or judged here: every lever is solved again in full by `planning.levers`, and one that the engine
refuses is shown as refused with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.levers.compute import parallel_levers, replay_levers, speculation_levers
from poolsplit.engines.sglang.levers.memory import (
    KEPT_FREE_GIB,
    kv_dtype_levers,
    memory_levers,
    pool_levers,
    state_dtype_levers,
)
from poolsplit.engines.sglang.levers.prefixes import checkpoint_levers, strategy_levers

if TYPE_CHECKING:
    from poolsplit.engines.device import Device
    from poolsplit.engines.engine import Lever
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.shapes.model_shape import ModelShape

__all__ = ["KEPT_FREE_GIB", "levers_of"]


def levers_of(
    shape: ModelShape,
    flags: Flags,
    resolved: ResolvedFlags,
    device: Device,
    release: str,
    idle_fraction: float | None = None,
) -> tuple[Lever, ...]:
    """Every lever that means a change for this launch, with what is known against it in this release.

    Args:
        shape: The target model.
        flags: The launch as asked for.
        resolved: The same after argument resolution.
        device: The card.
        release: Whose faults to mind.
        idle_fraction: Share of the card that stayed idle after a start, beyond what should stay free; None where no
            log tells.
    """
    return (
        *memory_levers(flags, resolved, idle_fraction),
        *strategy_levers(resolved, release),
        *state_dtype_levers(shape, resolved, device),
        *kv_dtype_levers(resolved),
        *speculation_levers(shape, resolved),
        *replay_levers(shape, resolved),
        *parallel_levers(shape, flags, resolved),
        *pool_levers(resolved),
        *checkpoint_levers(resolved),
    )
