"""A resolved launch as one JSON document, with the engine's field names and those of a read log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.derivation import Step
    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolution import AskedLaunch, Resolution
    from poolsplit.engines.resolved_pools import RankFigures, StagePools
    from poolsplit.errors import LaunchRefusedError

GIB_DECIMALS = 6


def resolution_document(resolution: Resolution, record: Mapping[str, Any]) -> dict[str, Any]:
    """An answered launch.

    Args:
        resolution: The launch and its pools.
        record: The answer's fields by the engine's own names.
    """
    stages = resolution.pools.stages
    return {
        **_head(resolution.engine),
        "model": resolution.shape.name,
        "model_provenance": resolution.shape.provenance,
        "model_source": resolution.shape.source,
        "device": device_document(resolution.device),
        "flags": dict(resolution.asked),
        "memory": memory_document(resolution.memory, resolution.memory_source),
        **{name: value for name, value in record.items() if name != "id"},
        "message": resolution.launcher_message,
        "both_pools_interval_bytes": list(resolution.both_pools_interval_bytes),
        "replicas": resolution.replicas,
        "running_requests_of_all_replicas": resolution.running_requests_of_all_replicas,
        "ranks": [rank_document(stage, rank) for stage, rank in zip(stages, resolution.figures, strict=True)],
        "resolved": dict(resolution.arguments),
        "warnings": list(resolution.warnings),
        "derivation": [step_document(step) for step in resolution.derivation],
    }


def refusal_document(
    command: str, engine: Mapping[str, str], error: LaunchRefusedError, asked: AskedLaunch | None
) -> dict[str, Any]:
    """A launch that the engine would refuse.

    Args:
        command: What was asked about it.
        engine: The engine and the release whose rules refuse.
        error: The refusal.
        asked: The launch as it was given; None where a log described it.
    """
    return {
        "command": command,
        "engine": dict(engine),
        **(_asked(asked) if asked is not None else {}),
        "ok": False,
        "stage": error.stage,
        "reason": error.reason,
        "figures": error.figures,
        "message": error.message,
        "hint": error.hint,
        "launcher_reason": None,
        "warnings": list(asked.warnings) if asked is not None else [],
        "derivation": [],
    }


def _asked(asked: AskedLaunch) -> dict[str, Any]:
    return {
        "model": asked.model,
        "device": device_document(asked.device),
        "flags": dict(asked.flags),
        "memory": memory_document(asked.memory, asked.memory_source),
    }


def device_document(device: Device) -> dict[str, Any]:
    """The card."""
    major, minor = device.compute_capability
    return {
        "name": device.name,
        "memory_mib": device.memory_mib,
        "compute_capability": f"{major}.{minor}",
        "verified": device.verified,
    }


def memory_document(memory: FreeMemory | None, source: str) -> dict[str, Any]:
    """Free memory as it was handed over; none where the weights leave none."""
    if memory is None:
        unknown = {"free_before_gib": None, "free_before_gib_reason": source}
        return {**unknown, "free_after_gib": None, "free_after_gib_reason": source, "source": source}
    return {
        "free_before_gib": memory.before_gib,
        "free_after_gib": list(memory.after_gib),
        "source": source,
    }


def rank_document(stage: StagePools, rank: RankFigures) -> dict[str, Any]:
    """One rank of a stage: what the start-up log prints of it."""
    state = rank.state
    return {
        "stage": rank.stage,
        "layers": [stage.start_layer, stage.end_layer],
        "state_layers": stage.state_layers,
        "kv_layers": stage.kv_layers,
        "max_mamba_cache_size": None if stage.state is None else stage.state.state_slots,
        "state_rows": None if state is None else state.rows,
        "conv_state_gib": _gib(None if state is None else state.conv_bytes),
        "ssm_state_gib": _gib(None if state is None else state.recurrent_bytes),
        "intermediate_ssm_gib": _gib(None if state is None else state.verify_recurrent_bytes),
        "intermediate_conv_gib": _gib(None if state is None else state.verify_conv_bytes),
        "ring_gib": _gib(None if state is None else state.ring_bytes),
        "kv_tokens": stage.kv_tokens,
        "window_tokens": stage.window_tokens,
        "kv_bytes_per_token": stage.kv_bytes_per_token,
        "k_gib": _gib(rank.kv.k_bytes),
        "v_gib": _gib(rank.kv.v_bytes),
        "kv_gib": _gib(rank.kv.kv_bytes),
        "max_running_requests": stage.max_running_requests,
    }


def step_document(step: Step) -> dict[str, Any]:
    """One step of the derivation."""
    return {"name": step.name, "value": step.value, "unit": step.unit, "source": step.source}


def _head(engine: Mapping[str, str]) -> dict[str, Any]:
    return {"command": "resolve", "engine": dict(engine)}


def _gib(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else round(size_bytes / GIB, GIB_DECIMALS)
