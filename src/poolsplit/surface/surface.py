"""The surface: cached tokens at every pair of sizes, the method that made each, and the error met."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.surface.cells import METHODS, Split

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from poolsplit.surface.cells import Method, Outcome, Replays
    from poolsplit.surface.marginals import Axis, Curve

LEAST_CONFIRMED = 9
"""Cells that a better method must have been run at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellError:
    """One cell where a better method was run, too."""

    state_slots: int
    kv_tokens: int
    method: Method
    better_method: Method
    error_tokens: int
    """Cached tokens by the method less those by the better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """Cached tokens over both pool sizes; None where what runs at once does not fit.

    Shapes:
        cached_tokens, method: a row a state size, a column a KV size
    """

    state_slots: tuple[int, ...]
    kv_tokens: tuple[int, ...]
    input_tokens: int
    cached_tokens: tuple[tuple[int | None, ...], ...]
    method: tuple[tuple[Method, ...], ...]
    errors: tuple[CellError, ...] = ()

    def split(self, row: int, column: int) -> Split:
        """The pools of a cell."""
        return Split(state_slots=self.state_slots[row], kv_tokens=self.kv_tokens[column])

    def checked(self) -> Surface:
        """The surface itself, if it shows how wrong it is.

        Raises:
            InputError: Fewer cells were confirmed than a surface must show.
        """
        cells = len(self.state_slots) * len(self.kv_tokens)
        better = sum(m in METHODS[2:] for line in self.method for m in line)
        if better < min(LEAST_CONFIRMED, cells):
            raise InputError(
                f"only {better} of {cells} cells of this surface were replayed: it cannot show its error",
                hint="let it run longer, or take fewer sizes",
            )
        return self


def from_pass(sizes: tuple[tuple[int, ...], tuple[int, ...]], cached: Iterable[Iterable[int]], total: int) -> Surface:
    """The instant picture: optimistic."""
    lines = tuple(tuple(int(c) for c in line) for line in cached)
    methods = _all_by("pass", lines)
    return Surface(state_slots=sizes[0], kv_tokens=sizes[1], input_tokens=total, cached_tokens=lines, method=methods)


def with_marginals(picture: Surface, curves: Mapping[Axis, Curve]) -> Surface:
    """The surface from both marginals: the pool that evicts first empties the other, too.

    Source: docs/surface.md section 3. Held by tests/unit/surface/test_surface.py.
    Known error:
        Too many hits where both pools bind; the cells that were replayed say how many.
    """
    total = picture.input_tokens
    lines: list[tuple[int | None, ...]] = []
    for slots in picture.state_slots:
        state = curves["state"].at(slots)
        worst = [max(state, curves["kv"].at(tokens)) for tokens in picture.kv_tokens]
        lines.append(tuple(None if math.isinf(w) else total - round(w) for w in worst))
    methods = _all_by("marginals", lines)
    return replace(picture, cached_tokens=tuple(lines), method=methods)


def _all_by(method: Method, lines: Iterable[Sequence[int | None]]) -> tuple[tuple[Method, ...], ...]:
    return tuple((method,) * len(line) for line in lines)


def with_outcomes(surface: Surface, outcomes: Mapping[Split, Outcome], method: Method) -> Surface:
    """The surface with some cells by a better method, and the errors that this shows."""
    cached = [list(line) for line in surface.cached_tokens]
    methods = [list(line) for line in surface.method]
    errors = list(surface.errors)
    for row in range(len(cached)):
        for column in range(len(cached[row])):
            outcome = outcomes.get(surface.split(row, column))
            if outcome is None or METHODS.index(methods[row][column]) >= METHODS.index(method):
                continue
            before = cached[row][column]
            cached[row][column] = outcome.cached_tokens if outcome.fits else None
            if before is not None and outcome.fits:
                errors.append(
                    _error(surface.split(row, column), methods[row][column], method, before - outcome.cached_tokens)
                )
            methods[row][column] = method
    return replace(
        surface,
        cached_tokens=tuple(map(tuple, cached)),
        method=tuple(map(tuple, methods)),
        errors=tuple(errors),
    )


def _error(split: Split, method: Method, better: Method, tokens: int) -> CellError:
    return CellError(
        state_slots=split.state_slots,
        kv_tokens=split.kv_tokens,
        method=method,
        better_method=better,
        error_tokens=tokens,
    )


def doubtful(surface: Surface, count: int) -> list[Split]:
    """Cells to replay next: nine spread out, then where neighbours differ most.

    A cell's doubt is the largest step of the logarithm of recomputed tokens to a neighbour, in both directions: there
    both pools bind, and there the marginals err.
    """
    rows, columns = len(surface.state_slots), len(surface.kv_tokens)
    spread = [(r, c) for r in _three(rows) for c in _three(columns)]
    ranked = sorted(((r, c) for r in range(rows) for c in range(columns)), key=lambda cell: -_doubt(surface, *cell))
    wanted = dict.fromkeys([*spread, *ranked])
    open_cells = [cell for cell in wanted if METHODS.index(surface.method[cell[0]][cell[1]]) < METHODS.index("replay")]
    fitting = [cell for cell in open_cells if surface.cached_tokens[cell[0]][cell[1]] is not None]
    return [surface.split(*cell) for cell in (fitting or open_cells)[:count]]


def _three(count: int) -> list[int]:
    return sorted({count // 6, count // 2, count - 1 - count // 6})


def _doubt(surface: Surface, row: int, column: int) -> float:
    down = _step(surface, (row - 1, column), (row + 1, column))
    across = _step(surface, (row, column - 1), (row, column + 1))
    return min(down, across) + 0.01 * (down + across)


def _step(surface: Surface, one: tuple[int, int], other: tuple[int, int]) -> float:
    ends = []
    for row, column in (one, other):
        r = min(max(row, 0), len(surface.state_slots) - 1)
        c = min(max(column, 0), len(surface.kv_tokens) - 1)
        cached = surface.cached_tokens[r][c]
        if cached is None:
            return 0.0
        ends.append(math.log(max(1, surface.input_tokens - cached)))
    return abs(ends[0] - ends[1])


def replay_cells(surface: Surface, replays: Replays, splits: list[Split]) -> Surface:
    """The surface with some cells replayed."""
    return with_outcomes(surface, dict(zip(splits, replays.of(splits), strict=True)), "replay")
