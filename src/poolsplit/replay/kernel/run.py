"""The fast replay: builds the arrays, runs the compiled kernel over them, and reads the records back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.kernel.answers import read_freed, read_records, read_traffic
from poolsplit.replay.kernel.build import build_world, grow, sending_of
from poolsplit.replay.kernel.entries import run_kernel
from poolsplit.replay.kernel.layout import GROW, OUT_OF_KV, OUT_OF_STATES, PAUSED, World
from poolsplit.replay.kernel.tables import tables_of
from poolsplit.replay.workload import ReplayResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.workload import Workload

ITERATIONS_A_CALL = 20_000
"""Iterations between two looks at progress and interrupts."""


def replay(config: ReplayConfig, workload: Workload, *, notes_freed: bool = False) -> ReplayResult:
    """Replays a workload and gives every decision; equal to `replay_reference` in every field.

    Raises:
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.

    Source: docs/replay.md. Held by tests/golden/test_replay_golden.py and tests/property/test_replay_kernel.py.
    """
    w = run_to_end(build_world(config, tables_of(config, workload), sending_of(workload), notes_freed=notes_freed))
    return ReplayResult(
        records=tuple(read_records(w, workload)),
        freed=tuple(read_freed(w)) if notes_freed else None,
        steps=int(w.now[0]["steps"]),
        traffic=read_traffic(w),
    )


def run_to_end(
    w: World, progress: Callable[[World], None] | None = None, *, iterations_a_call: int = ITERATIONS_A_CALL
) -> World:
    """Runs the kernel until the workload is done; arrays grow as needed.

    Args:
        w: A world at its start.
        progress: Called between calls of the kernel, with the world as it then is.
        iterations_a_call: Iterations between two such calls.

    Raises:
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.
    """
    kernel = run_kernel()
    while True:
        status = kernel(w, iterations_a_call)
        if status not in {GROW, PAUSED}:
            break
        if status == GROW:
            w = grow(w)
        if progress is not None:
            progress(w)
    if status == OUT_OF_STATES:
        raise InfeasiblePlanError(
            "the state pool ran out of slots in the middle of a step, which stops the engine",
            hint="give the state pool at least one slot more than running requests times slots per request",
        )
    if status == OUT_OF_KV:
        raise InfeasiblePlanError("the KV pool cannot hold a batch that admission let in")
    return w
