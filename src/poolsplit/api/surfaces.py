"""A trace at every split, and grids of replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from poolsplit.answers.surfaces.request import SurfaceRequest
    from poolsplit.traces.trace import Trace


def surface_request(*, server: Mapping[str, Any], pace: Mapping[str, Any], budget: Mapping[str, Any]) -> SurfaceRequest:
    """What a command line asks of a surface; unset words are None.

    Raises:
        InputError: A size, count or plan that is none.
        UsageError: A budget that lacks a part.
    """
    from poolsplit.answers.surfaces.request import surface_request as read

    return read(server=server, pace=pace, budget=budget)


def surface(
    trace: Trace, request: SurfaceRequest, *, confirm: bool = True, refine: bool = False
) -> Iterator[dict[str, Any]]:
    """Reuse at every pair of pool sizes as documents, each better than the one before.

    Args:
        trace: Requests with block ids.
        request: Server, order and budget.
        confirm: Put the best split, its neighbours and the default to the whole scheduler.
        refine: Go on until every cell is replayed.

    Raises:
        InputError: Lengths only, no times where they are needed, or options that cannot go together.
        InfeasiblePlanError: Nothing that runs at once fits the budget.
    """
    from poolsplit.answers.surfaces.stages import surface_documents

    return surface_documents(trace, request, confirm=confirm, refine=refine)


def sweep(spec: str | None, sets: Sequence[str], folder: str, **how: Any) -> dict[str, Any]:
    """Replays a grid into a folder, in this process, in others or on a Dask cluster; see `sweeping.sweep`.

    Args:
        spec: A TOML file.
        sets: `name=a,b,c` each.
        folder: Where the results go.
        **how: `workers` (processes on this machine) or `dask` (a scheduler's address), `resume` to go on with what the
            folder holds, `progress` to be told how many of how many points are done.

    Raises:
        InputError: A point, file or folder that cannot be used.
        UsageError: An axis that is none.
        MissingExtraError: Dask is not installed.
        EngineUnreachableError: No Dask scheduler answers.
    """
    from poolsplit.answers.sweeping import sweep as run
    from poolsplit.answers.sweeping.spec import read_grid

    return run(read_grid(spec, sets), folder, **how)
