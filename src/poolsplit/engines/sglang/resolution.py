"""One launch from its flags and free memory to a `Resolution`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from poolsplit.engines.resolution import Resolution
from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.rules.origins import argument_steps
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.solver.boot_figures import rank_figures
from poolsplit.engines.sglang.solver.derivation import derive

if TYPE_CHECKING:
    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

_NOT_ARGUMENTS = frozenset({"warnings", "launcher_reason", "launcher_message"})
_DEFAULTS = Flags()


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
        engine={"name": "sglang", "version": switches.version},
        shape=shape,
        device=device,
        memory=memory,
        memory_source="given",
        asked=asked_arguments(flags),
        arguments={
            entry.name: getattr(resolved, entry.name) for entry in fields(resolved) if entry.name not in _NOT_ARGUMENTS
        },
        pools=pools,
        figures=rank_figures(shape, resolved, switches, pools),
        derivation=(*argument_steps(flags, resolved), *derive(resolved, memory, switches, pools)),
        warnings=(*resolved.warnings, *((switches.warning,) if switches.warning else ())),
        launcher_message=resolved.launcher_message if resolved.launcher_reason is not None else None,
    )


def asked_arguments(flags: Flags) -> dict[str, Any]:
    """The arguments that a launch gives, without those left at their defaults; its environment under `env`."""
    given = {
        entry.name: getattr(flags, entry.name)
        for entry in fields(flags)
        if entry.name != "env" and getattr(flags, entry.name) != getattr(_DEFAULTS, entry.name)
    }
    return {**given, "env": dict(flags.env)} if flags.env else given
