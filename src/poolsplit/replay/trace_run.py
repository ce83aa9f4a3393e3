"""The replay of a trace: the whole scheduler over its requests, at one split and by one clock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import InputError
from poolsplit.replay.kernel.build import Sending, build_world
from poolsplit.replay.kernel.entries import explain_kernel
from poolsplit.replay.kernel.layout import LOSS, NOTE_LOOKUP
from poolsplit.replay.kernel.run import run_to_end
from poolsplit.replay.kernel.trace_tables import tables_of_trace
from poolsplit.replay.kv_only import kv_only_cached_tokens
from poolsplit.replay.summary import TraceSummary, summarise

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.kernel.layout import Records, World
    from poolsplit.replay.kernel.tables import Tables
    from poolsplit.replay.kernel.trace_tables import Clock
    from poolsplit.replay.trace_columns import Ints, TraceColumns

NODES_AN_INSERT = 2
"""Nodes that one insert adds to a tree that never forgets: a split and a leaf."""
SPARE = 16
ITERATIONS_A_LOOK = 1000
"""Scheduler iterations between two looks at a replay that goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Whose clock the requests follow, and how fast the server is."""

    clock: Clock
    """`order`: one after the other as they stand. `recorded`: at their arrivals. `closed`: sessions that wait."""
    sessions: int = 1
    """Open sessions (`closed`), or most requests outstanding (`order`)."""
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: tuple[tuple[int, float], ...] = ()
    """Tokens a second of one request, by how many run: `((1, 80.0), (32, 45.0))`; linear between in seconds a step."""

    def __post_init__(self) -> None:
        if self.sessions < 1:
            raise InputError(f"{self.sessions} sessions send nothing", hint="give at least 1")
        if self.clock != "order" and (self.prefill_tokens_per_s is None or not self.decode_tokens_per_s):
            raise InputError(
                f"the clock `{self.clock}` needs to know how fast the server is",
                hint="give `--prefill-tokens-per-s` and `--decode-tokens-per-s`, or replay with `--mode order`",
            )
        rates = [rate for _, rate in self.decode_tokens_per_s]
        if self.prefill_tokens_per_s is not None:
            rates.append(self.prefill_tokens_per_s)
        if not all(0 < rate < math.inf for rate in rates):
            raise InputError("a rate is not above zero, or without end", hint="rates are tokens per second")
        if any(running < 1 for running, _ in self.decode_tokens_per_s):
            raise InputError("a decode rate is of at least one running request", hint="write `1:80,32:45`")

    def step_s(self, rows: int) -> float:
        """Seconds of one decode step of so many requests."""
        if not self.decode_tokens_per_s:
            return 0.0
        running, rates = zip(*sorted(self.decode_tokens_per_s), strict=True)
        return float(np.interp(rows, running, [1.0 / rate for rate in rates]))

    @property
    def sending(self) -> Sending:
        """The same for the kernel."""
        if self.clock == "order":
            return Sending(outstanding_cap=self.sessions, sequential=self.sessions == 1)
        return Sending(
            outstanding_cap=1 << 40,
            clocked=True,
            lanes=self.sessions if self.clock == "closed" else 0,
            prefill_s_a_token=1.0 / (self.prefill_tokens_per_s or 1.0),
            step_s=self.step_s,
        )


def replay_trace(
    config: ReplayConfig,
    trace: TraceColumns,
    pace: Pace,
    *,
    progress: Callable[[World], None] | None = None,
    iterations_a_call: int = ITERATIONS_A_LOOK,
) -> TraceSummary:
    """Replays every request of a trace through the whole scheduler, and tells where reuse was lost.

    An interrupt ends the replay and gives what is known so far; one more, while that is counted, counts anew. One that
    comes before the first iteration goes on to the caller.

    Args:
        config: The server.
        trace: The requests.
        pace: The clock.
        progress: Called now and then, and at the end, with the world as it is.
        iterations_a_call: Scheduler iterations between two such calls.

    Raises:
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.

    Source: docs/replay.md. The decisions are those of `kernel.run.replay`.

    Known error:
        The clock: a batch takes its prefill tokens and one decode step of its other rows, nothing else.
    """
    tables = tables_of_trace(config, trace, pace.clock)
    latest = build_world(config, tables, pace.sending, journals=True)

    def look(w: World) -> None:
        nonlocal latest
        latest = w
        if progress is not None:
            progress(w)

    try:
        look(run_to_end(latest, look, iterations_a_call=iterations_a_call))
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True

    def account() -> TraceSummary:
        kv_only = kv_only_cached_tokens(trace, _order_of_starts(latest), config.kv_capacity_tokens)
        losses = _losses(config, tables, pace, latest)
        return summarise(config, latest, losses, kv_only_tokens=kv_only, interrupted=interrupted)

    try:
        return account()
    except KeyboardInterrupt:
        return account()


def _order_of_starts(w: World) -> Ints:
    """Rows in order of their first admission."""
    notes = w.journal[: w.now[0]["notes"]]
    rows: Ints = notes["request"][notes["what"] == NOTE_LOOKUP].astype(np.int64)
    return rows[np.sort(np.unique(rows, return_index=True)[1])]


def _losses(config: ReplayConfig, tables: Tables, pace: Pace, w: World) -> Records:
    losses = np.zeros(tables.requests.size, LOSS)
    nodes = NODES_AN_INSERT * int(w.now[0]["notes"]) + SPARE
    explain_kernel()(w, build_world(config, tables, pace.sending, nodes=nodes), losses)
    return losses
