"""Memory beside the reservation, and what stays free once both pools stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.plan_answer import BufferFigures, PlanAnswer
from poolsplit.planning.headroom import free_after_pools_bytes
from poolsplit.units import GIB, format_size

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.engines.engine import Changes, Solution
    from poolsplit.planning.outcome import Outcome

LEAST_FREE_BYTES = GIB
"""Below this graph capture is as good as sure to fail."""
_NOTABLE_OVERRUN_BYTES = GIB // 10


def with_headroom(answer: PlanAnswer, prepared: Prepared, outcome: Outcome) -> PlanAnswer:
    """Buffers beside the reservation, the free memory that is left, and warnings about both."""
    if prepared.buffers is None:
        return answer
    buffers = prepared.buffers(outcome.solution, outcome.changes)
    free = free_bytes(prepared, outcome.solution, outcome.changes)
    warnings = list(_memory_warnings(prepared, outcome, free))
    return replace(
        answer,
        headroom=tuple(
            BufferFigures(name=each.name, bytes=each.bytes, reserved_bytes=each.reserved_bytes, note=each.note)
            for each in buffers
        ),
        free_after_pools_bytes=free,
        warnings=(*answer.warnings, *warnings),
    )


def free_bytes(prepared: Prepared, solution: Solution, changes: Changes) -> int | None:
    """Free bytes once the pools stand; None where the free memory or the model is not known."""
    if prepared.buffers is None or prepared.after_weights_gib is None:
        return None
    buffers = prepared.buffers(solution, changes)
    after = [int(gib * GIB) for gib in prepared.after_weights_gib(len(solution.pools.stages))]
    return free_after_pools_bytes(solution, after, buffers)


def _memory_warnings(prepared: Prepared, outcome: Outcome, free: int | None) -> list[str]:
    assert prepared.buffers is not None  # noqa: S101 -- asked before
    buffers = prepared.buffers(outcome.solution, outcome.changes)
    overrun = sum(each.bytes - each.reserved_bytes for each in buffers)
    found = []
    if overrun > _NOTABLE_OVERRUN_BYTES:
        names = ", ".join(each.name for each in buffers if each.bytes - each.reserved_bytes > _NOTABLE_OVERRUN_BYTES)
        found.append(f"{format_size(overrun)} are allocated that the solver does not reserve ({names})")
    if free is not None and free < LEAST_FREE_BYTES:
        left = f"about {format_size(free)} stay free after the pools: graph capture is likely to fail"
        over = f"the pools and what stands beside them take about {format_size(-free)} more than is free"
        found.append(f"{left if free >= 0 else over}; lower `--mem-fraction-static`")
    return found
