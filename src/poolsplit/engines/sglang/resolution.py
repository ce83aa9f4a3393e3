"""One launch resolved and solved once, with everything a person may ask about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.solver.boot_figures import rank_figures
from poolsplit.engines.sglang.solver.derivation import derive

if TYPE_CHECKING:
    from poolsplit.derivation import Step
    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import RankFigures, ResolvedPools
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

_UNVERIFIED = "the card `{name}` was not held against the engine: its answers are not verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A launch, what the engine makes of it, and the pools."""

    shape: ModelShape
    flags: Flags
    device: Device
    memory: FreeMemory
    release: str
    resolved: ResolvedFlags
    pools: ResolvedPools
    figures: tuple[RankFigures, ...]
    """Sizes that the start-up log prints, one a pipeline stage."""
    derivation: tuple[Step, ...]
    warnings: tuple[str, ...]


def resolve_launch(
    shape: ModelShape,
    flags: Flags,
    device: Device,
    memory: FreeMemory,
    switches: Switches,
    draft: DraftShape | None = None,
) -> Resolution:
    """One launch from its flags and free memory to its pools.

    Raises:
        LaunchRefusedError: The engine would refuse the launch.
        UnsupportedModelError: The model does not divide as the launch asks.
    """
    shape = shape_in_release(shape, switches)
    resolved = resolve_flags(shape, flags, device, switches, draft)
    pools = solve(shape, resolved, memory, switches, draft)
    return Resolution(
        shape=shape,
        flags=flags,
        device=device,
        memory=memory,
        release=switches.version,
        resolved=resolved,
        pools=pools,
        figures=rank_figures(shape, resolved, switches, pools),
        derivation=derive(resolved, memory, switches, pools),
        warnings=tuple(_warnings(shape, device, resolved, switches)),
    )


def _warnings(shape: ModelShape, device: Device, resolved: ResolvedFlags, switches: Switches) -> list[str]:
    found = list(resolved.warnings)
    if switches.warning:
        found.append(switches.warning)
    if not device.verified:
        found.append(_UNVERIFIED.format(name=device.name))
    if shape.caution:
        found.append(shape.caution)
    return found
