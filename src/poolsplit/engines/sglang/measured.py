"""A running launch as its log shows it: slot and row measured, both pools' bytes known, the model not needed.

The engine's own state arms are solved again with the measured bytes, so a new split comes out as the start-up would
make it, to within what two printed decimals leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from poolsplit.engines.engine import Changes, Layout, Solution
from poolsplit.engines.resolved_pools import ResolvedPools, StagePools, StateGeometry
from poolsplit.engines.sglang.command.changes import PIN, RATIO, REQUESTS, WrittenLaunch
from poolsplit.engines.sglang.deployment import HELD_SLOTS, ratio_budget_bytes
from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules.families import DEFAULT_STATE_TO_KV_RATIO
from poolsplit.engines.sglang.solver.requests import grant_requests
from poolsplit.engines.sglang.solver.state_pool import StateCharges, solve_state_pool
from poolsplit.units import GIB, align_down

if TYPE_CHECKING:
    from poolsplit.engines.resolved_pools import StatePool
    from poolsplit.engines.sglang.resolved import ResolvedFlags

_SLOT_FLAGS = {
    1: {"disable_radix_cache": True},
    3: {},
    4: {"enable_mamba_extra_buffer": True, "disable_overlap_schedule": True},
    5: {"enable_mamba_extra_buffer": True},
}
"""Resolved flags that give each number of slots per request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPools:
    """What a log printed of one rank, and what its flags say."""

    state_bytes_per_slot: int
    kv_bytes_per_token: float
    rest_bytes: int
    """Both pools together, scratch included."""
    state_slots: int
    kv_tokens: int
    slots_per_request: int
    draft_states: int
    workers: int
    dcp_size: int
    page_tokens: int
    context_len: int
    request_cap: int | None
    """Asked-for running requests over all workers."""
    granted_requests: int | None
    ratio: float | None
    """As the launch set it; None leaves the default."""
    pin: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SolverFlags:
    """The resolved flags that the state arms and the request limit read."""

    max_mamba_cache_size: int | None
    mamba_full_memory_ratio: float
    max_running_requests: int | None
    attn_dp_size: int
    context_len: int
    disable_radix_cache: bool = False
    disable_overlap_schedule: bool = False
    enable_mamba_extra_buffer: bool = False
    enable_mamba_extra_buffer_lazy: bool = False
    skip_decode_lock: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDeployment(WrittenLaunch):
    """One launch solved from what its log measured."""

    measured: MeasuredPools

    def solve(self, changes: Changes) -> Solution:
        """The pools as printed, or with the split or the request cap changed.

        Raises:
            LaunchRefusedError: The engine would refuse it.
        """
        flags = self._flags(changes)
        resolved = cast("ResolvedFlags", flags)
        rest_gib = self.measured.rest_bytes / GIB
        state = solve_state_pool(rest_gib, self._charges(flags), resolved, 0)
        if state.rest_gib <= 0:
            raise refuse(
                "no_memory_for_kv", stage="solver[pp_rank=0]", mem_fraction_static=1.0, raise_above=1.0, minimum=0.0
            )
        kv_tokens = align_down(
            int(int(state.rest_gib * GIB) // self.measured.kv_bytes_per_token), self.measured.page_tokens
        )
        if not any(changes.get(name) is not None for name in (RATIO, PIN, REQUESTS)):
            return self._as_printed(flags, state)
        granted = grant_requests(kv_tokens, state.state_slots, resolved, self.switches, 0)
        return self._solution(flags, state, kv_tokens=kv_tokens, slots=state.state_slots, granted=granted)

    def layout(self, changes: Changes) -> Layout:
        """Slots per request and replicas, as measured."""
        del changes
        return Layout(slots_per_request=self.measured.slots_per_request, workers=self.measured.workers)

    def _flags(self, changes: Changes) -> _SolverFlags:
        measured = self.measured
        split = {RATIO: measured.ratio, PIN: measured.pin, REQUESTS: measured.request_cap, **changes}
        return _SolverFlags(
            max_mamba_cache_size=split[PIN],
            mamba_full_memory_ratio=DEFAULT_STATE_TO_KV_RATIO if split[RATIO] is None else split[RATIO],
            max_running_requests=split[REQUESTS],
            attn_dp_size=measured.workers,
            context_len=measured.context_len,
            **_SLOT_FLAGS[measured.slots_per_request],
        )

    def _charges(self, flags: _SolverFlags) -> StateCharges:
        asked = flags.max_running_requests
        return StateCharges(
            slot_bytes=self.measured.state_bytes_per_slot,
            extra_slot_bytes=0,
            fixed_bytes=0,
            padding=1 if self.switches.padding_slot else 0,
            draft_states=self.measured.draft_states,
            requests=None if asked is None else max(1, asked // flags.attn_dp_size),
        )

    def _as_printed(self, flags: _SolverFlags, state: StatePool) -> Solution:
        measured = self.measured
        by_slots = measured.state_slots // measured.slots_per_request
        granted = by_slots if measured.granted_requests is None else measured.granted_requests
        return self._solution(flags, state, kv_tokens=measured.kv_tokens, slots=measured.state_slots, granted=granted)

    def _pools(self, state: StatePool, *, kv_tokens: int, slots: int, granted: int) -> ResolvedPools:
        measured = self.measured
        stage = StagePools(
            start_layer=0,
            end_layer=0,
            state_layers=None,
            kv_layers=None,
            rest_gib=measured.rest_bytes / GIB,
            state=state,
            kv_budget_bytes=int(state.rest_gib * GIB),
            kv_bytes_per_token=measured.kv_bytes_per_token,
            kv_tokens=kv_tokens,
            window_tokens=None,
            max_running_requests=granted,
        )
        return ResolvedPools(
            state_slots=slots,
            kv_tokens=kv_tokens,
            logical_tokens=kv_tokens * measured.dcp_size,
            full_tokens=None,
            window_tokens=None,
            unified_bytes=None,
            max_running_requests=granted,
            slots_per_request=measured.slots_per_request,
            draft_states=measured.draft_states,
            state=_measured_geometry(measured.state_bytes_per_slot),
            kv_dtype="",
            context_len=measured.context_len,
            stages=(stage,),
            pp_max_micro_batch_size=granted,
        )

    def _solution(self, flags: _SolverFlags, state: StatePool, *, kv_tokens: int, slots: int, granted: int) -> Solution:
        measured, asked = self.measured, flags.max_running_requests
        pools = self._pools(state, kv_tokens=kv_tokens, slots=slots, granted=granted)
        return Solution(
            pools=pools,
            request_cap=None if asked is None else max(1, asked // measured.workers),
            workers=measured.workers,
            dcp_size=measured.dcp_size,
            page_tokens=measured.page_tokens,
            state_to_kv_ratio=flags.mamba_full_memory_ratio,
            pinned_slots=flags.max_mamba_cache_size,
            ratio_counts=state.arm.startswith("auto"),
            charged_slots=slots + (1 if self.switches.padding_slot else 0),
            ratio_budget_bytes=ratio_budget_bytes(pools, self.switches),
            balance_draft_states=measured.draft_states,
            memory_fraction=1.0,
            held_slots_per_request=HELD_SLOTS.get(measured.slots_per_request),
        )


def _measured_geometry(slot_bytes: int) -> StateGeometry:
    """A slot whose shapes no line tells."""
    return StateGeometry(
        conv_shapes=(),
        temporal_shape=(),
        conv_dtype="",
        state_dtype="",
        layers=0,
        bytes_per_slot=slot_bytes,
        charged_bytes_per_slot=slot_bytes,
    )
