"""Regret of the recommended split against every split of its budget line, by exhaustive replay.

    python bench/surface_regret.py TRACE... [--agents TRACE] [--json]

TRACE files are replayed one request at a time in their order; `--agents` sessions in closed loops of 8, 16 and 32 lanes
and, in the order of 16 lanes, one request at a time. Lines cost 400, 2000 or 4000 KV tokens a state; budgets run across
the knee. A line counts when at least 5 of its 100 splits hold what runs at once.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit import api
from poolsplit.answers.surfaces.answer import line_answer
from poolsplit.answers.surfaces.ground import Ground, ground_of
from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.ordered.order import Timing
from poolsplit.surface.cells import Split
from poolsplit.surface.line import Budget, splits_of
from poolsplit.traces.reorder import take

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_PRICES = (400, 2000, 4000)
LEAST_SPLITS = 5


def grounds(options: argparse.Namespace) -> Iterator[tuple[str, Ground, list[int]]]:
    """Name, ground and budgets in tokens of each traffic."""
    for name in options.traces:
        trace = api.read_trace([name])
        ground = ground_of(trace, version="0.5.23", server={}, timing=Timing())
        yield Path(name).stem, ground, [int(ground.endless.kv_peak * b / 16) for b in (0.5, 1, 2, 4)]
    for name in options.agents:
        trace = api.read_trace([name])
        for lanes in (8, 16, 32):
            ground = ground_of(trace, version="0.5.23", server={}, timing=Timing(mode="closed", sessions=lanes))
            base = ground.held.tokens_peak
            yield f"{Path(name).stem}, {lanes} lanes", ground, [int(base * b) for b in (0.9, 1.1, 1.4, 2.0)]
            if lanes == 16:
                yield "agents, one by one", one_by_one(ground), [500_000, 1_000_000, 2_000_000, 4_000_000]


def one_by_one(ground: Ground) -> Ground:
    """The same starts, each request alone."""
    from poolsplit.answers.surfaces.ground import runner
    from poolsplit.replay.ordered.order import held_by_running
    from poolsplit.replay.ordered.run import ordered_replay
    from poolsplit.surface.cells import Replays

    starts = ground.events[ground.events >= 0]
    events = np.stack([starts, -1 - starts], axis=1).ravel()
    return replace(
        ground,
        events=events,
        held=held_by_running((ground.tree.prompt, ground.tree.output), events),
        endless=ordered_replay(ground.config, ground.tree, events),
        replays=Replays(run=runner(ground.config, ground.tree, events), input_tokens=ground.input_tokens),
    )


def held_out(name: str, lanes: int) -> Iterator[tuple[str, Ground, Ground, list[int]]]:
    """Sessions to choose by and sessions to judge by: every other one, in closed loops of the same size."""
    trace = api.read_trace([name])
    timing = Timing(mode="closed", sessions=lanes)
    halves = [
        ground_of(take(trace, np.flatnonzero(trace.session % 2 == odd)), version="0.5.23", server={}, timing=timing)
        for odd in (0, 1)
    ]
    base = max(half.held.tokens_peak for half in halves)
    yield f"held out, {lanes} lanes", halves[0], halves[1], [int(base * b) for b in (1.1, 1.4, 2.0)]


def one_line(ground: Ground, budget: Budget, chosen_by: Ground | None = None) -> dict[str, Any] | None:
    """The recommended split, the best of all, and the default, on one line; None when too few splits fit."""
    begun = time.perf_counter()
    try:
        line = line_answer(chosen_by or ground, budget)
    except InfeasiblePlanError:
        return None
    seconds = time.perf_counter() - begun
    every = splits_of(budget, Split(state_slots=1, kv_tokens=1))
    ground.replays.of(every)
    fitting = [s for s in every if ground.replays.one(s).fits]
    if len(fitting) < LEAST_SPLITS:
        return None
    best = min(ground.replays.recomputed(s) for s in fitting)
    return {
        "budget_tokens": budget.total_bytes,
        "state_tokens": budget.state_bytes,
        "feasible": len(fitting),
        "best_recomputed": int(best),
        "regret": ground.replays.recomputed(line.best) / best - 1,
        "search_regret": (line.least_recomputed_tokens if chosen_by is None else float("nan")) / best - 1,
        "default_regret": ground.replays.recomputed(line.default) / best - 1,
        "replays": line.replays,
        "line_s": seconds,
    }


def show(name: str, row: dict[str, Any], *, as_json: bool) -> None:
    """One line of the table."""
    if as_json:
        print(json.dumps({"traffic": name, **row}))
        return
    print(
        f"{name:<22}{row['state_tokens']:>6}{row['budget_tokens']:>12,}{row['feasible']:>5}{row['regret']:>9.3%}"
        f"{row['search_regret']:>9.3%}{row['default_regret']:>9.1%}{row['replays']:>6}{row['line_s']:>7.2f}",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*")
    parser.add_argument("--agents", nargs="*", default=[])
    parser.add_argument("--held-out", action="store_true", help="choose by one half of the agents, judge by the other")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        print(f"{'traffic':<22}{'state':>6}{'budget':>12}{'fit':>5}", end="")
        print(f"{'regret':>9}{'search':>9}{'0.9':>9}{'runs':>6}{'s':>7}")
    cases: Iterator[tuple[str, Ground | None, Ground, list[int]]]
    if options.held_out:
        cases = (case for name in options.agents for lanes in (8, 16, 32) for case in held_out(name, lanes))
    else:
        cases = ((name, None, ground, budgets) for name, ground, budgets in grounds(options))
    for name, chosen_by, ground, budgets in cases:
        for price, tokens in product(STATE_PRICES, budgets):
            ground.replays.known.clear()
            row = one_line(ground, Budget(total_bytes=tokens, state_bytes=price, kv_bytes=1.0), chosen_by)
            if row is not None:
                show(name, row, as_json=options.json)


if __name__ == "__main__":
    main()
