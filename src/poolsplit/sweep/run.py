"""Points through an executor: a bounded number under way, each kept as soon as it is done, lost workers made good."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor, Future
    from contextlib import AbstractContextManager

    from poolsplit.sweep.grid import Point

ATTEMPTS = 3
"""Times that a point may lose its worker."""
UNDER_WAY = 64
"""Points handed to an executor at a time."""

Result = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """Who does the work."""

    work: Callable[[Point], Result]
    """One point; it must be importable where the executor runs it."""
    executor: Callable[[], AbstractContextManager[Executor]]
    """A new executor."""
    lost: tuple[type[BaseException], ...] = (BrokenProcessPool,)
    """Errors that mean a worker was lost, not that the point is bad."""


def run_points(points: Sequence[Point], crew: Crew, keep: Callable[[Point, Result], None]) -> None:
    """Runs points and keeps each result once.

    Args:
        points: What to run.
        crew: Who runs it.
        keep: Called in this process with each result as it comes.

    Raises:
        InputError: A point lost its worker again and again.
    """
    left = list(enumerate(points))
    losses = dict.fromkeys(range(len(points)), 0)
    while left:
        done, suspects = _one_executor(left, crew, keep)
        left = [(number, point) for number, point in left if number not in done]
        for number in suspects:
            losses[number] += 1
            if losses[number] >= ATTEMPTS:
                raise InputError(
                    f"a worker was lost {ATTEMPTS} times at {points[number]}",
                    hint="the points that were done are kept: go on with --resume and fewer workers",
                )


def _one_executor(
    left: Sequence[tuple[int, Point]], crew: Crew, keep: Callable[[Point, Result], None]
) -> tuple[set[int], set[int]]:
    """Runs points until all are done or the executor is lost; gives what was done and what was under way then."""
    waiting = iter(left)
    under_way: dict[Future[Result], tuple[int, Point]] = {}
    done: set[int] = set()
    with crew.executor() as executor:
        try:
            while True:
                for number, point in waiting:
                    under_way[executor.submit(crew.work, point)] = (number, point)
                    if len(under_way) >= UNDER_WAY:
                        break
                if not under_way:
                    return done, set()
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    number, point = under_way[future]
                    keep(point, future.result())
                    del under_way[future]
                    done.add(number)
        except crew.lost:
            return done, {number for number, _ in under_way.values()} - done
        except BaseException:
            for future in under_way:
                future.cancel()
            raise
