"""The order in which the engine resolves a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape


def resolve_flags(
    shape: ModelShape, flags: Flags, device: Device, switches: Switches, draft: ModelShape | None = None
) -> ResolvedFlags:
    """Every argument that the start-up solver reads, after defaults, overrides and validation.

    Args:
        shape: The target model.
        flags: The launch as asked for; `flags.env` its environment.
        device: The card.
        switches: The rules of the release.
        draft: The draft checkpoint, when the launch names one.

    Raises:
        LaunchRefusedError: The engine refuses the launch before it sizes anything (stage `server_args`).
    """
    raise NotImplementedError
