"""The fast replay: builds the arrays, runs the compiled kernel over them, and reads the records back."""

from __future__ import annotations

import hashlib
import inspect
from typing import TYPE_CHECKING, Any

import numba

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay import arithmetic
from poolsplit.replay.kernel import (
    admission,
    cache,
    driver,
    eviction,
    holdings,
    layout,
    leaves,
    ordering,
    retraction,
    room,
    scheduler,
    skipping,
    tokens,
    tree,
)
from poolsplit.replay.kernel.answers import read_freed, read_records
from poolsplit.replay.kernel.build import build_world, grow
from poolsplit.replay.kernel.layout import GROW, OUT_OF_KV, OUT_OF_STATES, PAUSED, World
from poolsplit.replay.workload import ReplayResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.workload import Workload

ITERATIONS_A_CALL = 20_000
"""Iterations between two looks at progress and interrupts."""
_SOURCES = (
    arithmetic, layout, tokens, tree, leaves, eviction, cache, holdings, admission, ordering, retraction, scheduler,
    skipping, room, driver,
)  # fmt: skip


def replay(config: ReplayConfig, workload: Workload, *, notes_freed: bool = False) -> ReplayResult:
    """Replays a workload and gives every decision; equal to `replay_reference` in every field.

    Raises:
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.

    Source: docs/replay.md. Held by tests/golden/test_replay_golden.py and tests/property/test_replay_kernel.py.
    """
    w = run_to_end(build_world(config, workload, notes_freed=notes_freed))
    return ReplayResult(
        records=tuple(read_records(w, workload)),
        freed=tuple(read_freed(w)) if notes_freed else None,
        steps=int(w.now[0]["steps"]),
    )


def run_to_end(w: World, progress: Callable[[World], None] | None = None) -> World:
    """Runs the kernel until the workload is done; arrays grow as needed."""
    kernel = compiled_kernel()
    while True:
        status = kernel(w, ITERATIONS_A_CALL)
        if status == GROW:
            w = grow(w)
        elif status == PAUSED:
            if progress is not None:
                progress(w)
        else:
            break
    if status == OUT_OF_STATES:
        raise InfeasiblePlanError(
            "the state pool ran out of slots in the middle of a step, which stops the engine",
            hint="give the state pool at least one slot more than running requests times slots per request",
        )
    if status == OUT_OF_KV:
        raise InfeasiblePlanError("the KV pool cannot hold a batch that admission let in")
    return w


_KERNELS: dict[str, Callable[[World, int], int]] = {}


def compiled_kernel() -> Callable[[World, int], int]:
    """The kernel's entry point; its machine code is kept on disk under a digest of every source that it is made of."""
    if "kernel" not in _KERNELS:
        _KERNELS["kernel"] = _compile_for(_source_digest())
    return _KERNELS["kernel"]


def _compile_for(digest: str) -> Any:
    @numba.njit(cache=True, error_model="numpy")
    def run(w: World, iterations: int) -> int:
        """Named by its digest: a change in any function below makes another entry on disk."""
        _ = digest
        return driver.run_world(w, iterations)

    return run


def _source_digest() -> str:
    return hashlib.sha256("".join(inspect.getsource(module) for module in _SOURCES).encode()).hexdigest()
