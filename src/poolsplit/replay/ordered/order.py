"""Which request starts and which finishes, in which order: what a fixed-order replay is given."""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from poolsplit.replay.ordered.request_tree import Ints

Floats = NDArray[np.float64]
Mode = Literal["order", "closed", "recorded"]
MODES: tuple[Mode, ...] = ("order", "closed", "recorded")


class TimedColumns(Protocol):
    """What is asked of a trace to put its requests in order."""

    @property
    def arrival_s(self) -> Floats:
        """Seconds at which each was sent."""

    @property
    def session(self) -> Ints:
        """Session of each."""

    @property
    def after(self) -> Ints:
        """Row whose answer the client waited for, or -1."""

    @property
    def think_s(self) -> Floats:
        """Seconds between that answer and the request."""

    @property
    def service_s(self) -> Floats:
        """Seconds that the request took."""

    @property
    def block_tokens(self) -> int | None:
        """Tokens of one block."""

    @property
    def kept_blocks(self) -> Ints:
        """Blocks of each prompt that an earlier one has had."""

    @property
    def input_tokens(self) -> Ints:
        """Tokens of the prompt."""

    @property
    def output_tokens(self) -> Ints:
        """Tokens of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How requests are sent, and how long each takes: a fixed order does not ask the caches."""

    mode: Mode = "order"
    """`order`: as they stand. `closed`: sessions in lanes, one behind the other. `recorded`: at recorded times."""
    outstanding: int = 1
    """Requests that run at once (mode `order`)."""
    sessions: int | None = None
    """Lanes of a closed loop."""
    prefill_tokens_per_s: float | None = None
    """Speed of prompts; with the other speed it replaces recorded times."""
    decode_tokens_per_s: float | None = None
    """Speed of one answer."""
    longest_think_s: float = 10.0
    """Longer pauses of a client are cut to this."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"the mode `{self.mode}` is not known", hint=f"known are {', '.join(MODES)}")
        if self.mode == "closed" and (self.sessions or 0) < 1:
            raise InputError("a closed loop needs a number of sessions", hint="give `--sessions N`")
        if self.outstanding < 1:
            raise InputError("at least one request must be outstanding", hint="ask for 1 or more")
        for speed in (self.prefill_tokens_per_s, self.decode_tokens_per_s):
            if speed is not None and not 0 < speed < math.inf:
                raise InputError("a speed is not above zero, or without end", hint="speeds are tokens per second")


def order_events(columns: TimedColumns, timing: Timing) -> NDArray[np.int64]:
    """Starts (`row`) and finishes (`-1 - row`) in order.

    Raises:
        InputError: Times are wanted that the trace does not have, and no speeds were given.
    """
    if timing.mode == "order":
        return in_order(columns.input_tokens.size, timing.outstanding)
    service = service_times(columns, timing)
    if timing.mode == "recorded":
        return by_time(columns.arrival_s, columns.arrival_s + service)
    return _closed_loop(columns, service, timing)


def in_order(rows: int, outstanding: int) -> NDArray[np.int64]:
    """Each request starts when there is room among the outstanding ones; the oldest leaves first."""
    starts = np.arange(rows)
    times = np.concatenate([2 * starts, 2 * (starts + outstanding) - 1])
    return np.concatenate([starts, -1 - starts])[np.argsort(times, kind="stable")]


def by_time(starts_s: Floats, ends_s: Floats) -> NDArray[np.int64]:
    """Starts and finishes by time; at one moment finishes come first, and nothing finishes before it starts."""
    rows = np.arange(starts_s.size)
    times = np.concatenate([starts_s, np.maximum(ends_s, np.nextafter(starts_s, np.inf))])
    events = np.concatenate([rows, -1 - rows])
    return events[np.lexsort((events, times))]


def service_times(columns: TimedColumns, timing: Timing) -> Floats:
    """Seconds that each request takes: from the two speeds where both are given, else as recorded.

    By speeds a request reads what no earlier prompt has had, and writes its answer. Requests without a recorded time
    take the median of the others.

    Raises:
        InputError: Nothing is recorded and no speeds are given.
    """
    if timing.prefill_tokens_per_s is not None and timing.decode_tokens_per_s is not None:
        known = np.minimum(columns.kept_blocks * (columns.block_tokens or 1), columns.input_tokens)
        read = (columns.input_tokens - known) / timing.prefill_tokens_per_s
        return np.asarray(read + columns.output_tokens / timing.decode_tokens_per_s, dtype=np.float64)
    service = columns.service_s.astype(np.float64)
    missing = np.isnan(service)
    if missing.all() and missing.size:
        raise InputError(
            "the requests have no recorded durations",
            hint="give `--prefill-tokens-per-s` and `--decode-tokens-per-s`, or use `--mode order`",
        )
    return np.where(missing, np.median(service[~missing]), service) if missing.any() else service


def _closed_loop(columns: TimedColumns, service: Floats, timing: Timing) -> NDArray[np.int64]:
    """Sessions take the free lanes in order; a request follows the one it waited for after the client's pause."""
    think = np.minimum(np.nan_to_num(columns.think_s, nan=0.0), timing.longest_think_s).tolist()
    seconds, session = service.tolist(), columns.session.tolist()
    firsts, followers, left = _who_waits(columns)
    lanes = min(timing.sessions or 1, len(firsts))
    starts, ends = np.zeros(len(seconds)), np.zeros(len(seconds))
    due = [(0.0, row) for lane in range(lanes) for row in firsts[lane]]
    heapify(due)
    next_session = lanes
    while due:
        time, row = heappop(due)
        starts[row], ends[row] = time, time + seconds[row]
        for follower in followers.get(row, ()):
            heappush(due, (ends[row] + think[follower], follower))
        own = session[row]
        left[own] -= 1
        if left[own] == 0 and next_session < len(firsts):
            for first in firsts[next_session]:
                heappush(due, (ends[row], first))
            next_session += 1
    return by_time(starts, ends)


def _who_waits(columns: TimedColumns) -> tuple[list[list[int]], dict[int, list[int]], list[int]]:
    """Rows that begin each session, rows that wait for each row, and rows of each session."""
    count = int(columns.session.max()) + 1 if columns.session.size else 0
    firsts: list[list[int]] = [[] for _ in range(count)]
    followers: dict[int, list[int]] = {}
    left = [0] * count
    for row, (own, before) in enumerate(zip(columns.session.tolist(), columns.after.tolist(), strict=True)):
        left[own] += 1
        if before < 0:
            firsts[own].append(row)
        else:
            followers.setdefault(before, []).append(row)
    return firsts, followers, left


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What running requests take away, seen at each start."""

    running_mean: float
    running_p95: float
    running_peak: int
    """Requests."""
    tokens_mean: float
    tokens_p95: float
    tokens_peak: int
    """KV tokens of their whole contexts; a prefix that two of them share counts twice."""


def held_by_running(requests: tuple[Ints, Ints], events: NDArray[np.int64]) -> Held:
    """Requests that run, and their contexts, counted whenever one starts.

    Args:
        requests: Prompt and answer tokens.
        events: Starts and finishes in order.
    """
    prompt, output = requests
    starting = events >= 0
    rows = np.where(starting, events, -1 - events)
    sign = np.where(starting, 1, -1)
    running = np.cumsum(sign)[starting]
    tokens = np.cumsum(sign * (prompt + output)[rows])[starting]
    return Held(
        running_mean=float(running.mean()),
        running_p95=float(np.percentile(running, 95)),
        running_peak=int(running.max()),
        tokens_mean=float(tokens.mean()),
        tokens_p95=float(np.percentile(tokens, 95)),
        tokens_peak=int(tokens.max()),
    )
