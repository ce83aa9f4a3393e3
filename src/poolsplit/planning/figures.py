"""Outcomes as the figures of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.plan_answer import Constants, SplitFigures, StageFigures
from poolsplit.planning.balance import effective_ratio, token_equiv, widest_row_bytes

if TYPE_CHECKING:
    from poolsplit.engines.engine import Deployment, Solution
    from poolsplit.engines.resolved_pools import StagePools
    from poolsplit.plan_answer import ConstantsOrigin
    from poolsplit.planning.outcome import Outcome


def split_figures(outcome: Outcome, deployment: Deployment, flags: tuple[str, ...] | None = None) -> SplitFigures:
    """One outcome as the answer shows it."""
    solution, pools = outcome.solution, outcome.solution.pools
    pinned = solution.pinned_slots
    return SplitFigures(
        mode=outcome.mode,
        state_to_kv_ratio=solution.state_to_kv_ratio if pinned is None else None,
        max_mamba_cache_size=pinned,
        state_slots=pools.state_slots,
        kv_tokens=pools.logical_tokens,
        swa_tokens=pools.window_tokens,
        state_requests=outcome.state_requests,
        kv_requests=outcome.kv_requests,
        max_running_requests=outcome.granted,
        running_requests=outcome.running_requests,
        total_running_requests=outcome.total_running,
        pp_max_micro_batch_size=pools.pp_max_micro_batch_size,
        binding=outcome.binding,
        kv_used_fraction=outcome.kv_used_fraction,
        state_used_fraction=outcome.state_used_fraction,
        held_slots_per_request=solution.held_slots_per_request,
        predicted_state_usage_fraction=outcome.predicted_state_usage,
        effective_ratio=effective_ratio(solution),
        flags=deployment.flag_words(outcome.changes) if flags is None else flags,
    )


def constants_of(solution: Solution, origin: ConstantsOrigin, published: float | None = None) -> Constants:
    """What one slot and one row cost."""
    state = solution.pools.state
    return Constants(
        state_bytes_per_slot=None if state is None else state.charged_bytes_per_slot,
        kv_bytes_per_token=widest_row_bytes(solution),
        token_equiv=token_equiv(solution),
        slots_per_request=solution.pools.slots_per_request,
        draft_states=solution.pools.draft_states,
        dcp_size=solution.dcp_size,
        workers=solution.workers,
        page_tokens=solution.page_tokens,
        origin=origin,
        token_equiv_published=published,
    )


def stage_figures(solution: Solution) -> tuple[StageFigures, ...]:
    """Every pipeline stage: what its layers really take, and what lies idle."""
    stages = solution.pools.stages
    alone = [_tokens_alone(stage) for stage in stages]
    widest = max((stage.state_layers or 0) for stage in stages)
    charged_layers = _charged_layers(solution) or widest
    return tuple(
        _stage(stage, tokens, (widest, charged_layers), binds_kv=tokens == min(alone))
        for stage, tokens in zip(stages, alone, strict=True)
    )


def _charged_layers(solution: Solution) -> int | None:
    """State layers that every stage is charged for: those of the widest one, or of the whole model in old releases."""
    geometry = solution.pools.state
    if geometry is None or not geometry.layers:
        return None
    return round(geometry.layers * geometry.charged_bytes_per_slot / geometry.bytes_per_slot)


def _tokens_alone(stage: StagePools) -> int:
    return int(stage.kv_budget_bytes // stage.kv_bytes_per_token) if stage.kv_bytes_per_token else (1 << 63) - 1


def _stage(stage: StagePools, tokens_alone: int, state_layers: tuple[int, int], *, binds_kv: bool) -> StageFigures:
    widest, charged_layers = state_layers
    charged = 0 if stage.state is None else stage.state.pool_bytes + stage.state.verify_bytes
    layers = stage.state_layers or 0
    state_bytes = charged * layers // charged_layers if charged_layers else charged
    kv_bytes = int(stage.kv_tokens * stage.kv_bytes_per_token)
    binds = (("state",) if layers == widest and layers else ()) + (("kv",) if binds_kv else ())
    return StageFigures(
        layers=stage.end_layer - stage.start_layer,
        state_layers=stage.state_layers,
        kv_layers=stage.kv_layers,
        state_bytes=state_bytes,
        kv_bytes=kv_bytes,
        idle_bytes=charged - state_bytes + stage.kv_budget_bytes - kv_bytes,
        kv_tokens_alone=tokens_alone,
        binds=binds,
    )
