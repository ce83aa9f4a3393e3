"""Sweeps: grids of replays, kept point by point in a folder, through any executor. Beside `api`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.answers.sweeping.crew import executor_of
from poolsplit.answers.sweeping.store import Store
from poolsplit.answers.sweeping.work import run_point
from poolsplit.errors import PoolsplitError
from poolsplit.sweep.run import Crew, run_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.sweep.grid import Grid, Point


def sweep(
    grid: Grid,
    folder: str,
    *,
    workers: int | None = None,
    dask: str | None = None,
    resume: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Runs a grid into a folder and gives what was done.

    Args:
        grid: The points.
        folder: Where `results.jsonl` and `spec.json` go.
        workers: Processes; this process alone without it.
        dask: Address of a Dask scheduler.
        resume: Go on with what the folder holds.
        progress: Told how many of how many points are done.

    Raises:
        InputError: The folder holds another sweep, or a point that cannot be replayed.
        MissingExtraError: Dask is asked for and not installed.
    """
    store = Store.open(folder, grid, resume=resume)
    points = grid.points()
    left = [point for point in points if not store.has(point)]
    found = len(points) - len(left)
    done, refused = found, False

    def keep(point: Point, result: dict[str, Any]) -> None:
        nonlocal done
        store.keep(point, result)
        done += 1
        if progress is not None:
            progress(done, len(points))

    try:
        make, lost = executor_of(workers, dask)
        run_points(left, Crew(work=run_point, executor=make, lost=lost), keep)
    except PoolsplitError:
        refused = store.new and not done
        raise
    finally:
        store.forget() if refused else store.write_results(points)
    return {
        "points": len(points),
        "replayed": len(points) - found,
        "found": found,
        "unserved": store.unserved(points),
        "folder": folder,
    }
