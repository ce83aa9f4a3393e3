"""Byte and slot constants of a live server: its resolved arguments put through the rules and the solver again.

Only the constants are taken, which do not depend on free memory; the card is not known from outside, and matters to
them only where a KV format exists on some cards alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.device import Device
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.flags import FLAG_NAMES, Flags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import DEFAULT_VERSION, switches_for

if TYPE_CHECKING:
    from poolsplit.engines.live_reading import ServerFacts
    from poolsplit.shapes.model_shape import ModelShape

UNDECIDED = "auto"
"""What a field says that the engine decides later; a launch that does not ask leaves it so."""

_ANY_CARD = Device(name="any", memory_mib=143_771, compute_capability=(9, 0))
_AMPLE = FreeMemory(before_gib=4096.0, after_gib=(4000.0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConstants:
    """What one slot and one row of a live server cost on one rank."""

    state_bytes_per_slot: int
    """What the solver charges: the widest pipeline stage's share."""
    kv_bytes_per_token: float
    """Of the pipeline stage with the widest rows."""
    first_stage_kv_bytes_per_token: float
    """Of the stage that answers for the server."""
    slots_per_request: int
    draft_states: int
    """Verify states that take scratch by the request; 0 where replay or the role saves them."""


def constants_of(shape: ModelShape, facts: ServerFacts) -> ServerConstants | None:
    """Constants of a server that runs this model; None for a model without state layers.

    Raises:
        LaunchRefusedError: The resolved arguments are refused when they are asked for again.
        InputError: The server's release cannot be told.
    """
    switches = switches_for(facts.engine_version or DEFAULT_VERSION)
    resolved = resolve_flags(shape, asked_again(facts), _ANY_CARD, switches)
    pools = solve(shape, resolved, _AMPLE, switches)
    state = pools.stages[0].state
    if pools.state is None or state is None or pools.slots_per_request is None:
        return None
    return ServerConstants(
        state_bytes_per_slot=pools.state.charged_bytes_per_slot,
        kv_bytes_per_token=max(stage.kv_bytes_per_token for stage in pools.stages),
        first_stage_kv_bytes_per_token=pools.stages[0].kv_bytes_per_token,
        slots_per_request=pools.slots_per_request,
        draft_states=pools.draft_states if state.verify_bytes else 0,
    )


def asked_again(facts: ServerFacts) -> Flags:
    """Resolved arguments as a launch would ask for them; they resolve to themselves.

    Older releases keep the width of attention data parallelism in the general size, newer ones in a field of its own.
    """
    values = {
        name: value
        for name, value in facts.arguments.items()
        if name in FLAG_NAMES and value is not None and value != UNDECIDED
    }
    if values.get("enable_dp_attention") and "attn_dp_size" not in values:
        values["dp_size"] = facts.dp_workers
    values.pop("mem_fraction_static", None)
    values.pop("max_total_tokens", None)
    return Flags(**values)  # type: ignore[arg-type]
