"""A resolved launch for people: the answer first, then the figures that the start-up log will carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.report.columns import columns
from poolsplit.report.derivation_text import derivation_table, plain_value
from poolsplit.units import GIB, format_size

if TYPE_CHECKING:
    from poolsplit.engines.resolution import Resolution
    from poolsplit.engines.resolved_pools import RankFigures, StagePools

_HEADLINE = ("rest", "state_slots", "slots_per_request", "kv_tokens", "max_running_requests")


def resolution_screen(resolution: Resolution, *, explain: bool = False) -> str:
    """The whole answer as text."""
    parts = [f"{_answer(resolution)}\n{_launch(resolution)}", _set_by(resolution), _ranks(resolution)]
    if explain:
        parts.append(derivation_table(resolution.derivation))
    return "\n\n".join(parts)


def _answer(resolution: Resolution) -> str:
    pools = resolution.pools
    each = " a worker" if resolution.workers > 1 else " a replica" if resolution.replicas > 1 else ""
    parts = [f"{pools.max_running_requests:,} requests{each}"]
    if pools.state is not None and pools.state_slots is not None:
        parts.append(f"{pools.state_slots:,} state slots at {pools.slots_per_request} a request")
    parts.append(f"{pools.logical_tokens:,} KV tokens")
    return ", ".join(parts) + _in_all(resolution)


def _in_all(resolution: Resolution) -> str:
    """The total beside figures that are those of one part."""
    count = resolution.replicas if resolution.replicas > 1 else resolution.workers
    if count == 1:
        return ""
    name = "whole replicas, each on cards of its own" if resolution.replicas > 1 else "workers that share the cards"
    return f"\n{count} {name}: {resolution.running_requests_of_all_replicas:,} requests in all"


def _launch(resolution: Resolution) -> str:
    engine = resolution.engine
    return f"{resolution.shape.name} on {resolution.device.name}, rules of {engine['name']} {engine['version']}"


def _set_by(resolution: Resolution) -> str:
    steps = {step.name: step for step in resolution.derivation}
    shown = [steps[name] for name in _HEADLINE if name in steps]
    rows = [(step.name, f"{plain_value(step.value)} {step.unit}", step.source) for step in shown]
    return columns(("figure", "value", "set by"), rows, right=(1,)) + _interval(resolution)


def _interval(resolution: Resolution) -> str:
    """How far estimated memory may be off; nothing where it was measured."""
    low, high = resolution.both_pools_interval_bytes
    if low == high:
        return ""
    return f"\nestimated: {format_size(low)} to {format_size(high)} for both pools ({resolution.memory_source})"


def _ranks(resolution: Resolution) -> str:
    stages = resolution.pools.stages
    rows = [_rank_row(stage, rank) for stage, rank in zip(stages, resolution.figures, strict=True)]
    heads = ("stage", "layers", "slots", "conv", "ssm", "verify", "rings", "tokens", "K", "V", "KV", "requests")
    kept = [at for at, _ in enumerate(heads) if any(row[at] for row in rows)]
    table = columns([heads[at] for at in kept], [[row[at] for at in kept] for row in rows], right=range(len(kept)))
    return f"what the start-up log will print, on one rank of each stage (sizes in GiB)\n{table}"


def _rank_row(stage: StagePools, rank: RankFigures) -> tuple[str, ...]:
    state = rank.state
    verify = None
    if state is not None and state.verify_conv_bytes is not None:
        verify = state.verify_conv_bytes + (state.verify_recurrent_bytes or 0)
    return (
        str(rank.stage),
        f"{stage.start_layer}-{stage.end_layer - 1}" if stage.end_layer > stage.start_layer else "none",
        "" if stage.state is None else f"{stage.state.state_slots:,}",
        _gib(None if state is None else state.conv_bytes),
        _gib(None if state is None else state.recurrent_bytes),
        _gib(verify),
        _gib(None if state is None else state.ring_bytes),
        f"{stage.kv_tokens:,}",
        _gib(rank.kv.k_bytes),
        _gib(rank.kv.v_bytes),
        _gib(rank.kv.kv_bytes),
        f"{stage.max_running_requests:,}",
    )


def _gib(size_bytes: int | None) -> str:
    return "" if size_bytes is None else f"{size_bytes / GIB:.2f}"
