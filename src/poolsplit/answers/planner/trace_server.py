"""The cache of a planned launch in the words of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.answers.replay_host import DEFAULT_POLICY
from poolsplit.errors import InputError
from poolsplit.plan_answer import CacheFigures

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.engines.engine import Changes, Solution

SLOTS_WITHOUT_TRACKING = 3
BOTH_TRACKING_SLOTS = 2


def server_of(prepared: Prepared, solution: Solution, changes: Changes) -> dict[str, Any]:
    """The cache of this launch, in the replay's words."""
    facts = prepared.reuse(changes)
    strategy, overlap = (facts.strategy, facts.overlap) if facts.strategy else _by_slots(prepared, solution)
    if strategy == "off":
        raise InputError(
            "this launch keeps no prefixes, so a trace decides nothing about its split",
            hint="leave the radix cache on, or plan by --context",
        )
    server: dict[str, Any] = {
        "strategy": strategy,
        "overlap": overlap,
        "page_tokens": solution.page_tokens * solution.dcp_size,
        "chunk_tokens": facts.chunk_tokens,
        "max_states_per_path": facts.states_per_path,
    }
    if facts.state_chunk_tokens is not None:
        server["state_chunk_tokens"] = facts.state_chunk_tokens
    interval = facts.track_interval_tokens or prepared.launch_values.get("mamba_track_interval")
    return server if interval is None else {**server, "track_interval_tokens": int(str(interval))}


def cache_figures(prepared: Prepared, solution: Solution, changes: Changes) -> CacheFigures | None:
    """The same as figures of the plan; None where the launch keeps no prefixes, or only a log tells of it."""
    facts = prepared.reuse(changes)
    if facts.strategy is None or facts.strategy == "off":
        return None
    tiered = facts.host_ratio is not None or facts.host_size_gb is not None
    policy = prepared.launch_values.get("hicache_write_policy") or DEFAULT_POLICY
    return CacheFigures(
        strategy=facts.strategy,
        page_size=solution.page_tokens * solution.dcp_size,
        chunked_prefill_size=facts.chunk_tokens,
        track_interval=facts.track_interval_tokens,
        state_chunk=facts.state_chunk_tokens,
        max_states_per_path=facts.states_per_path,
        hicache_ratio=facts.host_ratio,
        hicache_size=facts.host_size_gb,
        hicache_write_policy=str(policy) if tiered else None,
        enable_unified_memory=bool(prepared.launch_values.get("enable_unified_memory")),
    )


def _by_slots(prepared: Prepared, solution: Solution) -> tuple[str, bool]:
    """Strategy and overlap where only a log tells: by its slots a request."""
    tracking = (solution.pools.slots_per_request or 0) - SLOTS_WITHOUT_TRACKING
    if tracking < 0:
        return "off", True
    lazy = str(prepared.launch_values.get("mamba_radix_cache_strategy", "")).endswith("lazy")
    strategy = "no_buffer" if tracking == 0 else "extra_buffer_lazy" if lazy else "extra_buffer"
    return strategy, tracking >= BOTH_TRACKING_SLOTS or lazy
