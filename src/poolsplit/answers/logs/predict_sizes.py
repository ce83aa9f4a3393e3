"""Printed sizes beside those that a release's rules give for the printed slots, tokens and requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.logs.logged_memory import stage_of
from poolsplit.engines.boot_report import PredictedFigure
from poolsplit.engines.sglang.solver.boot_figures import rank_figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_facts import PrintedSize
    from poolsplit.engines.boot_report import BootReport, RankReport
    from poolsplit.engines.resolved_pools import RankFigures, ResolvedPools
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import ModelShape


def predicted_sizes(
    rank: RankReport, boot: BootReport, rules: tuple[ModelShape, ResolvedFlags, Switches], pools: ResolvedPools
) -> Iterator[PredictedFigure]:
    """Sizes that follow from the printed slots, tokens and requests."""
    shape, resolved, switches = rules
    requests = boot.granted_running_requests
    requests = granted_requests(boot, resolved, pools) if requests is None else requests
    forced = _with_printed(rank, pools, requests)
    figures = rank_figures(shape, resolved, switches, forced)[min(stage_of(rank.label), len(forced.stages) - 1)]
    for name, size_bytes, printed in _pairs(rank, figures, known_requests=requests is not None):
        if size_bytes is not None and printed is not None:
            yield PredictedFigure(
                rank=rank.label,
                name=name,
                unit="GiB",
                predicted=size_bytes / printed.unit_bytes,
                printed=f"{printed.value}",
                follows=printed.holds(size_bytes),
            )


def granted_requests(boot: BootReport, resolved: ResolvedFlags, pools: ResolvedPools) -> int | None:
    """Requests that the printed slots and tokens grant; None where one of them is not printed."""
    printed = [rank.state.state_slots for rank in boot.pool_ranks if rank.state]
    slots = min((each for each in printed if each is not None), default=None)
    tokens = min((rank.kv_tokens for rank in boot.pool_ranks if rank.kv_tokens is not None), default=None)
    if slots is None or tokens is None or not pools.slots_per_request:
        return None
    default = max(min(int(tokens / resolved.context_len * 512), 4096), 2048)
    asked = resolved.max_running_requests
    limit = default if asked is None else max(1, asked // resolved.attn_dp_size)
    return min(limit, tokens // 2, slots // pools.slots_per_request)


def _pairs(
    rank: RankReport, figures: RankFigures, *, known_requests: bool
) -> Iterator[tuple[str, int | None, PrintedSize | None]]:
    if figures.state is not None and rank.state is not None and rank.state.state_slots is not None:
        state = figures.state
        yield "conv state", state.conv_bytes, rank.state.conv
        yield "recurrent state", state.recurrent_bytes, rank.state.ssm
        if known_requests:
            yield "verify recurrent states", state.verify_recurrent_bytes, rank.state.scratch_ssm
            yield "verify conv windows", state.verify_conv_bytes, rank.state.scratch_conv
    if rank.kv and rank.kv_tokens is not None:
        yield "K", figures.kv.k_bytes, rank.kv[0].k
        yield "V", figures.kv.v_bytes, rank.kv[0].v
        yield "KV", figures.kv.kv_bytes, rank.kv[0].kv


def _with_printed(rank: RankReport, pools: ResolvedPools, requests: int | None) -> ResolvedPools:
    """The pools with the printed slots, tokens and requests in place of the solved ones."""
    stages = []
    for stage in pools.stages:
        state = stage.state
        if state is not None and rank.state is not None and rank.state.state_slots is not None:
            state = replace(state, state_slots=rank.state.state_slots)
        tokens = stage.kv_tokens if rank.kv_tokens is None else rank.kv_tokens
        granted = stage.max_running_requests if requests is None else requests
        stages.append(replace(stage, state=state, kv_tokens=tokens, max_running_requests=granted))
    return replace(pools, stages=tuple(stages))
