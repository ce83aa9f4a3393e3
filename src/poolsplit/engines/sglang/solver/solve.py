"""One launch from free memory to the two pools, stage by stage in the engine's order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.engines.resolved_pools import ResolvedPools, StagePools
from poolsplit.engines.sglang.release_shapes import shape_in_release
from poolsplit.engines.sglang.shards import stage_ranges
from poolsplit.engines.sglang.slots import draft_states, slots_per_request
from poolsplit.engines.sglang.solver import refused
from poolsplit.engines.sglang.solver.geometry import geometry_of, state_demand
from poolsplit.engines.sglang.solver.kv_pool import capped
from poolsplit.engines.sglang.solver.requests import grant_requests
from poolsplit.engines.sglang.solver.sizers import make_sizers
from poolsplit.engines.sglang.solver.state_pool import solve_state_pool, state_charges
from poolsplit.engines.sglang.solver.unified import unified_bytes
from poolsplit.errors import IndivisibleError
from poolsplit.units import GIB

if TYPE_CHECKING:
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import StateGeometry, StatePool
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.shards import StageRange
    from poolsplit.engines.sglang.solver.kv_pool import KvPool, KvSizer
    from poolsplit.engines.sglang.solver.state_pool import StateCharges
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Launch:
    """What every stage of one launch shares."""

    shape: ModelShape
    resolved: ResolvedFlags
    switches: Switches
    memory: FreeMemory
    geometry: StateGeometry | None
    charges: StateCharges | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Split:
    """Memory of one rank divided: the state pool, and what is left for KV rows."""

    rest_gib: float
    state: StatePool | None
    budget_bytes: int

    @property
    def state_slots(self) -> int | None:
        """Usable slots; None without state layers."""
        return None if self.state is None else self.state.state_slots


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Stage:
    """One stage while it is being solved."""

    rank: int
    layers: StageRange
    sizer: KvSizer
    split: _Split
    pool: KvPool
    requests: int


def solve(
    shape: ModelShape,
    resolved: ResolvedFlags,
    memory: FreeMemory,
    switches: Switches,
    draft: DraftShape | None = None,
) -> ResolvedPools:
    """The pools that a start-up of this launch resolves.

    Args:
        shape: The target model.
        resolved: The launch after argument resolution.
        memory: Free memory before and after the weights.
        switches: The rules of the release.
        draft: The draft checkpoint, when the launch names one.

    Raises:
        LaunchRefusedError: The start-up would fail: stage `solver[pp_rank=N]`, reason and figures.

    Source: the engine's start-up solver; held by the golden answers of eight releases.
    """
    shape = shape_in_release(shape, switches)
    ranges = stage_ranges(shape.layers, resolved.pp_size, resolved.pp_layer_partition)
    if switches.pp_refuses_mtp and _runs_mtp_over_stages(shape, resolved):
        raise refused.at_stage("pp_with_mtp", 0)
    limit = resolved.draft_context_limit
    if limit is not None:
        raise refused.at_stage("context_length_above_model", 0, asked=resolved.context_len, own=limit)
    try:
        launch = _opened(shape, resolved, memory, switches, ranges)
    except IndivisibleError as error:
        raise refused.state_not_dividing(error) from None
    stages = _first_pass(launch, ranges, draft)
    if len(stages) > 1:
        least = min(stage.pool.kv_tokens for stage in stages)
        stages = [_second_pass(launch, stage, least) for stage in stages]
    return _result(launch, stages)


def _opened(
    shape: ModelShape,
    resolved: ResolvedFlags,
    memory: FreeMemory,
    switches: Switches,
    ranges: tuple[StageRange, ...],
) -> _Launch:
    """What the stages share: the state of one slot, and what is charged for it."""
    geometry, charges = None, None
    if shape.state is not None:
        demand = state_demand(shape, resolved, switches, ranges, memory.extra_slot_bytes)
        charges = state_charges(shape, resolved, switches, demand)
        geometry = geometry_of(shape, resolved, demand, charges)
    return _Launch(shape=shape, resolved=resolved, switches=switches, memory=memory, geometry=geometry, charges=charges)


def _first_pass(launch: _Launch, ranges: tuple[StageRange, ...], draft: DraftShape | None) -> list[_Stage]:
    """Every stage on its own, in the order of ranks; stages alike in memory and layers are solved once."""
    available = launch.memory.per_stage_gib(len(ranges))
    splits = {available[0]: _split_memory(launch, available[0], 0)}
    sizers = make_sizers(launch.shape, launch.resolved, launch.switches, draft, ranges)
    alike: dict[tuple[float, int], _Stage] = {}
    stages = []
    for rank, layers in enumerate(ranges):
        free, sizer = available[rank], sizers[rank]
        stage = alike.get((free, id(sizer)))
        if stage is None:
            if free not in splits:
                splits[free] = _split_memory(launch, free, rank)
            stage = alike[free, id(sizer)] = _solve_stage(launch, rank, layers, sizer, splits[free])
            stages.append(stage)
        else:
            stages.append(replace(stage, rank=rank, layers=layers))
    return stages


def _split_memory(launch: _Launch, available_gib: float, rank: int) -> _Split:
    resolved, before = launch.resolved, launch.memory.before_gib
    rest_gib = available_gib - before * (1 - resolved.mem_fraction_static) - resolved.mm_reservation_gib
    state = None if launch.charges is None else solve_state_pool(rest_gib, launch.charges, resolved, rank)
    left_gib = rest_gib if state is None else state.rest_gib
    if left_gib <= 0:
        raise refused.no_memory_for_kv(available_gib, before, resolved.mem_fraction_static, rank)
    return _Split(rest_gib=rest_gib, state=state, budget_bytes=int(left_gib * GIB))


def _solve_stage(launch: _Launch, rank: int, layers: StageRange, sizer: KvSizer, split: _Split) -> _Stage:
    """Rows under the user's cap, and requests."""
    resolved = launch.resolved
    pool = capped(sizer.from_bytes(split.budget_bytes, rank), sizer, resolved.max_total_tokens, rank)
    requests = grant_requests(pool.kv_tokens, split.state_slots, resolved, launch.switches, rank)
    return _Stage(rank=rank, layers=layers, sizer=sizer, split=split, pool=pool, requests=requests)


def _second_pass(launch: _Launch, stage: _Stage, least_tokens: int) -> _Stage:
    """The same stage once the least row count over all stages is known."""
    pool = capped(stage.pool, stage.sizer, least_tokens, stage.rank)
    if pool is stage.pool:
        return stage
    slots = stage.split.state_slots
    requests = grant_requests(pool.kv_tokens, slots, launch.resolved, launch.switches, stage.rank)
    return replace(stage, pool=pool, requests=requests)


def _runs_mtp_over_stages(shape: ModelShape, resolved: ResolvedFlags) -> bool:
    speculates = resolved.speculative_algorithm is not None
    return resolved.pp_size > 1 and speculates and bool(shape.num_nextn_predict_layers)


def _result(launch: _Launch, stages: list[_Stage]) -> ResolvedPools:
    resolved, first = launch.resolved, stages[0]
    split = first.split
    windowed = first.pool.window_tokens is not None
    recapped = resolved.enable_unified_memory and first.pool != first.sizer.from_bytes(split.budget_bytes, 0)
    return ResolvedPools(
        state_slots=resolved.max_mamba_cache_size if split.state is None else split.state_slots,
        kv_tokens=first.pool.kv_tokens,
        logical_tokens=first.pool.kv_tokens * (1 if windowed else resolved.dcp_size),
        full_tokens=first.pool.full_tokens,
        window_tokens=first.pool.window_tokens,
        unified_bytes=unified_bytes(split.budget_bytes, resolved, launch.switches, recapped=recapped),
        max_running_requests=first.requests,
        slots_per_request=None if launch.geometry is None else slots_per_request(resolved),
        draft_states=draft_states(resolved),
        state=launch.geometry,
        kv_dtype=resolved.kv_dtype,
        context_len=resolved.context_len,
        stages=tuple(_stage_pools(launch.shape, stage) for stage in stages),
        pp_max_micro_batch_size=max(first.requests // resolved.pp_size, 1),
        launcher_reason=resolved.launcher_reason,
    )


def _stage_pools(shape: ModelShape, stage: _Stage) -> StagePools:
    has_state = shape.state is not None
    window_ids = shape.window.layer_ids if shape.window is not None else ()
    return StagePools(
        start_layer=stage.layers.start,
        end_layer=stage.layers.end,
        state_layers=stage.layers.count(shape.state_layer_ids) if has_state else None,
        kv_layers=stage.layers.count(shape.kv_layer_ids) + stage.layers.count(window_ids) if has_state else None,
        rest_gib=stage.split.rest_gib,
        state=stage.split.state,
        kv_budget_bytes=stage.split.budget_bytes,
        kv_bytes_per_token=stage.sizer.cell_bytes,
        kv_tokens=stage.pool.kv_tokens,
        window_tokens=stage.pool.window_tokens,
        max_running_requests=stage.requests,
    )
