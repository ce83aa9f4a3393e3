"""The surface of a trace in stages: instant picture, budget line, marginals, replayed cells, and refinement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.answers.surfaces.rivals import default_split
from poolsplit.errors import InfeasiblePlanError
from poolsplit.surface.cells import ENDLESS, Split
from poolsplit.surface.floors import least_kv, least_states, surely_too_small
from poolsplit.surface.grid import spaced
from poolsplit.surface.line import best_by, coarse_best, middle_of_valley, pattern_search, splits_of
from poolsplit.surface.marginals import trace_curves
from poolsplit.surface.surface import doubtful, from_pass, replay_cells, with_marginals
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from poolsplit.answers.surfaces.confirm import Confirmed
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.surface.line import Budget
    from poolsplit.surface.marginals import Axis, Curve
    from poolsplit.surface.surface import CellError, Surface

GRID = 24
"""Sizes of each pool."""
MARGINAL_REPLAYS = 16
CONFIRMED_CELLS = 18
COARSE_REPLAYS = 8
REFINED_AT_ONCE = 8
CLIFF = 0.05
"""A neighbour at this much more recomputed tokens is beyond a cliff."""
NEAR = 4
"""Splits of the line within which a cliff is near."""
NEIGHBOUR = 2
"""Splits of the line between a split and the neighbours that are confirmed with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineAnswer:
    """The best split of a budget, and what lies around it."""

    budget: Budget
    splits: tuple[Split, ...]
    """Of the line, the rivals among them, the ones in which what runs at once can fit."""
    rivals: tuple[Split, ...]
    """Those of the default and of the current split that are among them: the recommended one is never behind them."""
    default: Split
    current: Split | None
    """The split as it stands; None where it is not known."""
    place: int
    """The recommended one among them."""
    recomputed_tokens: int
    least_recomputed_tokens: int
    """The best that was met; less than the recommended one's where that stands back from a cliff."""
    cliff_tokens: int | None
    """Recomputed tokens more, four splits to the worse side, where that is a cliff."""
    cliff_side: str | None
    """Pool that would be too small there."""
    gained_per_gib: dict[Axis, int]
    """Cached tokens gained by one GiB more in each pool."""
    replays: int
    """Replays that the search took."""

    @property
    def best(self) -> Split:
        """The recommended split."""
        return self.splits[self.place]

    @property
    def neighbours(self) -> tuple[Split, ...]:
        """A little to either side of the recommended one."""
        near = (self.place - NEIGHBOUR, self.place + NEIGHBOUR)
        return tuple(self.splits[i] for i in near if 0 <= i < len(self.splits))


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceAnswer:
    """What is known so far."""

    ground: Ground
    surface: Surface
    picture_errors: tuple[CellError, ...] = ()
    line: LineAnswer | None = None
    curves: dict[Axis, Curve] | None = None
    confirmed: tuple[Confirmed, ...] = ()
    """What the scheduler says of the best split, its neighbours, the default and the current one."""


def line_answer(
    ground: Ground,
    budget: Budget,
    least: tuple[int, int] | None = None,
    allowed: Callable[[Split], bool] | None = None,
    current: Split | None = None,
) -> LineAnswer:
    """The best split of a budget by pattern search from the best of some starts.

    The starts are the best of the pass and the best of a few replays spread over the line: where the pass is wrong, at
    cliffs, the replays are not. The default and the current split belong to the line and are starts, too, so that
    what is recommended is never behind them.

    Args:
        ground: The trace in its order.
        budget: Bytes to share.
        least: State slots and KV tokens below which nothing fits, where they are known.
        allowed: What else a split must meet.
        current: The split as it stands, where it is known.

    Raises:
        InfeasiblePlanError: Nothing that runs at once fits this budget.
    """
    replays, before = ground.replays, len(ground.replays.known)
    floors = _floors(ground, least)
    splits = [s for s in splits_of(budget, surely_too_small(floors)) if allowed is None or allowed(s)]
    splits = _cut(ground, splits)
    default = default_split(budget)
    rivals = _rivals(ground, budget, (default, current), allowed)
    splits = sorted({*splits, *rivals})
    if not splits:
        raise InfeasiblePlanError(
            f"no split of {budget.total_bytes} bytes holds what runs at once",
            hint=f"it takes {floors.state_slots} state slots and {floors.kv_tokens} KV tokens, "
            f"{budget.bytes_of(floors)} bytes, or fewer sessions at a time",
        )
    starts = {best_by(splits, _picture_of(ground, splits)), coarse_best(splits, replays, COARSE_REPLAYS)}
    place = pattern_search(splits, replays, sorted(starts | {splits.index(s) for s in rivals}))
    line = LineAnswer(
        budget=budget,
        splits=tuple(splits),
        rivals=rivals,
        default=default,
        current=current,
        place=place,
        recomputed_tokens=0,
        least_recomputed_tokens=int(replays.recomputed(splits[place])),
        cliff_tokens=None,
        cliff_side=None,
        gained_per_gib={},
        replays=0,
    )
    line = line_at(ground, line, middle_of_valley(splits, replays, place, rivals))
    return replace(line, replays=len(replays.known) - before)


def line_at(ground: Ground, line: LineAnswer, place: int) -> LineAnswer:
    """The line with another of its splits recommended, and what lies around that one."""
    cliff, side = _cliff_beside(ground, line.splits, place)
    return replace(
        line,
        place=place,
        recomputed_tokens=int(ground.replays.recomputed(line.splits[place])),
        cliff_tokens=cliff,
        cliff_side=side,
        gained_per_gib=_gradient(ground, line.budget, line.splits[place]),
    )


def _rivals(
    ground: Ground, budget: Budget, named: tuple[Split | None, ...], allowed: Callable[[Split], bool] | None
) -> tuple[Split, ...]:
    """Those of some splits that keep to the budget, serve the order and meet what else is asked."""
    kept = [s for s in named if s is not None and s.state_slots > 0 and budget.bytes_of(s) <= budget.total_bytes]
    found = [s for s in kept if ground.replays.one(s).fits and (allowed is None or allowed(s))]
    return tuple(dict.fromkeys(found))


def _floors(ground: Ground, least: tuple[int, int] | None) -> Split:
    if least is None:
        least = (
            least_states(ground.replays, ground.endless.held_states_peak + ground.held.running_peak),
            least_kv(ground.replays, ground.held.tokens_peak),
        )
    return Split(state_slots=least[0], kv_tokens=least[1])


def _cut(ground: Ground, splits: list[Split]) -> list[Split]:
    """Leaves out the ends of a line where both pools are small enough that the order does not fit after all."""
    while splits and not ground.replays.one(splits[0]).fits:
        splits = splits[1:]
    while splits and not ground.replays.one(splits[-1]).fits:
        splits = splits[:-1]
    return splits


def _picture_of(ground: Ground, splits: list[Split]) -> Callable[[Split], float]:
    """Recomputed tokens by the pass at the splits of a line."""
    slots = sorted({s.state_slots for s in splits})
    tokens = sorted({s.kv_tokens for s in splits})
    cached = ground.hits((slots, tokens))
    places = {n: i for i, n in enumerate(slots)}, {n: i for i, n in enumerate(tokens)}
    return lambda s: float(ground.input_tokens - cached[places[0][s.state_slots], places[1][s.kv_tokens]])


def _cliff_beside(ground: Ground, splits: Sequence[Split], place: int) -> tuple[int | None, str | None]:
    """What a cliff a few splits away costs, and the pool that is too small beyond it."""
    replays, here = ground.replays, ground.replays.recomputed(splits[place])
    ends = [i for i in (place - NEAR, place + NEAR) if 0 <= i < len(splits)]
    replays.of([splits[i] for i in ends])
    steep = max(ends, key=lambda i: replays.recomputed(splits[i]), default=place)
    cost = replays.recomputed(splits[steep]) - here
    if cost <= CLIFF * here:
        return None, None
    return int(cost) if cost < ENDLESS else None, "state" if steep < place else "kv"


def _gradient(ground: Ground, budget: Budget, split: Split) -> dict[Axis, int]:
    more_states = replace(split, state_slots=split.state_slots + max(1, GIB // budget.state_bytes))
    more_kv = replace(split, kv_tokens=split.kv_tokens + int(GIB / budget.kv_bytes))
    here, states, kv = ground.replays.of([split, more_states, more_kv])
    return {"state": states.cached_tokens - here.cached_tokens, "kv": kv.cached_tokens - here.cached_tokens}


def surface_stages(ground: Ground, budget: Budget | None, current: Split | None = None) -> Iterator[SurfaceAnswer]:
    """The surface as it gets better: the picture, the line, the marginals with replayed cells."""
    peak = ground.endless
    most = budget.most if budget else Split(state_slots=peak.states_peak, kv_tokens=peak.kv_peak)
    high = Split(state_slots=min(most.state_slots, peak.states_peak), kv_tokens=min(most.kv_tokens, peak.kv_peak))
    guess = Split(
        state_slots=max(ground.config.slots_per_request, ground.endless.held_states_peak),
        kv_tokens=max(1, int(ground.held.tokens_p95)),
    )
    yield SurfaceAnswer(ground=ground, surface=_picture(ground, guess, high, None))
    least = _floors(ground, None)
    line = None
    if budget is not None:
        line = line_answer(ground, budget, (least.state_slots, least.kv_tokens), current=current)
        yield SurfaceAnswer(ground=ground, surface=_picture(ground, least, high, line), line=line)
    picture = _picture(ground, least, high, line)
    ranges: dict[Axis, tuple[int, int]] = {
        "state": (least.state_slots, max(high.state_slots, least.state_slots)),
        "kv": (least.kv_tokens, max(high.kv_tokens, least.kv_tokens)),
    }
    curves = trace_curves(ground.replays, ranges, MARGINAL_REPLAYS)
    surface = with_marginals(picture, curves)
    splits = doubtful(surface, CONFIRMED_CELLS)
    if line is not None:
        splits = list(dict.fromkeys([line.best, *line.rivals, *splits]))
    yield SurfaceAnswer(
        ground=ground,
        surface=replay_cells(surface, ground.replays, splits).checked(),
        picture_errors=replay_cells(picture, ground.replays, splits).errors,
        line=line,
        curves=curves,
    )


def refined(answer: SurfaceAnswer) -> Iterator[SurfaceAnswer]:
    """The surface with more and more cells replayed, the most doubtful first, until all are."""
    while splits := doubtful(answer.surface, REFINED_AT_ONCE):
        answer = replace(answer, surface=replay_cells(answer.surface, answer.ground.replays, splits))
        yield answer


def _picture(ground: Ground, low: Split, high: Split, line: LineAnswer | None) -> Surface:
    """Evenly spaced sizes, and those of every split of the line that may come to be recommended."""
    slots = set(spaced(low.state_slots, high.state_slots, GRID))
    tokens = set(spaced(low.kv_tokens, high.kv_tokens, GRID))
    for split in () if line is None else (line.best, *line.neighbours, *line.rivals):
        slots.add(split.state_slots)
        tokens.add(split.kv_tokens)
    sizes = tuple(sorted(slots)), tuple(sorted(tokens))
    return from_pass(sizes, ground.hits(sizes).tolist(), ground.input_tokens)


__all__ = ["LineAnswer", "SurfaceAnswer", "line_answer", "line_at", "refined", "surface_stages"]
