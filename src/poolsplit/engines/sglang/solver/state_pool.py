"""The state pool: how many slots one rank gets, and what is left for KV rows.

Floats follow the engine step by step: the same operations in the same order, so that a slot more or less at the edge
comes out as it does there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.resolved_pools import StatePool
from poolsplit.engines.sglang.slots import draft_states, slots_per_request
from poolsplit.engines.sglang.solver import refused
from poolsplit.engines.sglang.solver.rings import replay_rings
from poolsplit.errors import InputError
from poolsplit.units import GIB

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.costs import StateFormat
    from poolsplit.shapes.model_shape import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StateCharges:
    """What one slot and one verified request cost a rank; the same on every rank of a launch."""

    slot_bytes: int
    """State of one slot."""
    extra_slot_bytes: int
    """What a slot carries besides: a replay ring, a custom model's bytes."""
    fixed_bytes: int
    """Rings that belong to running requests and not to slots."""
    padding: int
    """Slots, and verified requests, that are charged but cannot be used: 1, or 0 in the first release."""
    draft_states: int
    """States a verified request takes; 0 when no scratch is reserved."""
    requests: int | None
    """Asked-for running requests per data-parallel worker."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StateDemand:
    """What the model asks of one rank before any charge."""

    state: StateFormat
    slot_bytes: int
    """One slot over all state layers of the model."""
    extra_slot_bytes: int
    """What a custom model adds to it."""
    scale: float
    """Share of the state layers that a rank is charged for."""


def state_charges(shape: ModelShape, resolved: ResolvedFlags, switches: Switches, demand: StateDemand) -> StateCharges:
    """Charges of one launch, the same on every rank.

    Raises:
        LaunchRefusedError: Rings by the request, and no number of requests.
    """
    requests = requests_per_worker(resolved, switches)
    rings = replay_rings(shape, resolved, switches, demand.state, demand.scale)
    if rings.active and not rings.per_slot and requests is None:
        raise refused.at_stage("replay_without_requests", 0)
    extra = int(demand.extra_slot_bytes * demand.scale) if switches.prices_extra_slot_bytes else 0
    return StateCharges(
        slot_bytes=int(demand.slot_bytes * demand.scale),
        extra_slot_bytes=extra + (rings.ring_bytes if rings.per_slot else 0),
        fixed_bytes=0 if rings.per_slot else rings.ring_bytes * ((requests or 0) + 1),
        padding=1 if switches.padding_slot else 0,
        draft_states=0 if rings.active or _skips_verify(resolved, switches) else draft_states(resolved),
        requests=requests,
    )


def requests_per_worker(resolved: ResolvedFlags, switches: Switches) -> int | None:
    """Asked-for running requests of one data-parallel worker; None when nothing was asked."""
    if resolved.max_running_requests is None:
        return None
    share = resolved.max_running_requests // resolved.attn_dp_size
    return max(1, share) if switches.at_least_one_request_per_dp else share


def solve_state_pool(rest_gib: float, charges: StateCharges, resolved: ResolvedFlags, pp_rank: int) -> StatePool:
    """Slots of one rank by the first arm that applies, and what they leave.

    Raises:
        LaunchRefusedError: No slot fits, or the strategy cannot be counted.
        InputError: A ratio so large that the engine's own float gives no number.

    Source: the engine's four arms; held by the golden answers.
    """
    budget_bytes = None
    if resolved.max_mamba_cache_size is not None:
        arm, slots = "pinned", resolved.max_mamba_cache_size // resolved.attn_dp_size
        verified = _verified_requests(slots, charges, resolved, pp_rank)
    elif resolved.disable_radix_cache and charges.requests is not None:
        arm, slots = "from_requests", charges.requests
        verified = slots
    else:
        ratio = resolved.mamba_full_memory_ratio
        budget_bytes = rest_gib * ratio / (1 + ratio) * GIB
        if not math.isfinite(budget_bytes):
            raise InputError(
                f"`--mamba-full-memory-ratio` {ratio:g} of {rest_gib:g} GiB is past what a float holds",
                hint="give a ratio below 1e300 and free memory as a card has it",
            )
        arm = "auto_verify" if charges.draft_states else "auto"
        slots = _auto_slots(budget_bytes, charges, resolved, pp_rank)
        verified = _verified_requests(slots, charges, resolved, pp_rank)
    verify_bytes = charges.slot_bytes * (verified + charges.padding) * charges.draft_states
    if charges.draft_states:
        rest_gib -= verify_bytes / GIB
    if slots <= 0:
        raise refused.state_pool_empty(slots, rest_gib, charges.slot_bytes, pp_rank)
    per_slot = charges.slot_bytes + charges.extra_slot_bytes
    pool_bytes = (slots + charges.padding) * per_slot + charges.fixed_bytes
    return StatePool(
        arm=arm,
        state_slots=slots,
        budget_bytes=budget_bytes,
        pool_bytes=pool_bytes,
        verify_bytes=verify_bytes,
        rest_gib=rest_gib - pool_bytes / GIB,
    )


def _auto_slots(budget_bytes: float, charges: StateCharges, resolved: ResolvedFlags, pp_rank: int) -> int:
    slot, extra, padding = charges.slot_bytes, charges.extra_slot_bytes, charges.padding
    drafts = charges.draft_states
    if drafts:
        per_slot = slot * (1 + drafts / slots_per_request(resolved, pp_rank)) + extra
        return int((budget_bytes - padding * slot * (1 + drafts) - padding * extra) // per_slot)
    return int((budget_bytes - charges.fixed_bytes - padding * (slot + extra)) // (slot + extra))


def _verified_requests(slots: int, charges: StateCharges, resolved: ResolvedFlags, pp_rank: int) -> int:
    if not charges.draft_states:
        return 0
    by_slots = slots // slots_per_request(resolved, pp_rank)
    return by_slots if charges.requests is None else min(charges.requests, by_slots)


def _skips_verify(resolved: ResolvedFlags, switches: Switches) -> bool:
    return (
        switches.prefill_skips_verify_scratch
        and resolved.disaggregation_mode == "prefill"
        and not resolved.enable_pd_role_switch
        and not resolved.enable_unified_memory
    )
