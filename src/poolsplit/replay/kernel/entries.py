"""The kernel's entry points. Their machine code is kept on disk under a digest of every source that it is made of."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numba

from poolsplit.replay import arithmetic
from poolsplit.replay.kernel import (
    admission,
    driver,
    eviction,
    explain,
    heap,
    holdings,
    host_lists,
    hosted,
    journal,
    layout,
    leaves,
    locks,
    ordering,
    pacing,
    pools,
    retraction,
    room,
    scheduler,
    skipping,
    states,
    tiers,
    tokens,
    tree,
)
from poolsplit.replay.kernel import cache as prefix_cache

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.kernel.layout import Records, World

_SOURCES = (
    arithmetic, layout, tokens, tree, journal, heap, leaves, states, host_lists, hosted, eviction, locks, pools, tiers,
    prefix_cache, holdings, admission, ordering, retraction, scheduler, skipping, room, pacing, driver,
)  # fmt: skip


@cache
def run_kernel() -> Callable[[World, int], int]:
    """Runs a world for at most so many iterations."""
    return _compile_run(_digest(_SOURCES))


@cache
def explain_kernel() -> Callable[[World, World, Records], None]:
    """Tells where reuse went, from the journal of a finished world."""
    return _compile_explain(_digest((layout, tokens, tree, prefix_cache, explain)))


def _compile_run(digest: str) -> Any:
    @numba.njit(cache=True, error_model="numpy")
    def run(w: World, iterations: int) -> int:
        """Named by its digest: a change in any function below makes another entry on disk."""
        _ = digest
        return driver.run_world(w, iterations)

    return run


def _compile_explain(digest: str) -> Any:
    @numba.njit(cache=True, error_model="numpy")
    def run(w: World, memory: World, losses: Records) -> None:
        """Named by its digest: a change in any function below makes another entry on disk."""
        _ = digest
        explain.explain_losses(w, memory, losses)

    return run


def _digest(modules: tuple[Any, ...]) -> str:
    return hashlib.sha256("".join(inspect.getsource(module) for module in modules).encode()).hexdigest()
