"""The Mooncake dialect of increments: each row of a session holds only what is new.

The prompt of a later row is the prompt before it, the answer to it, and the new tokens. Answers carry no ids; they are
new tokens that nobody else has. Block boundaries of different rows do not line up, so blocks have one token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.clocks import to_seconds
from poolsplit.traces.ids import fitting_ids
from poolsplit.traces.reading import NONE_SKIPPED, SECONDS_PER_UNIT, column, reject_rows
from poolsplit.traces.token_tree import ROOT, TokenTree
from poolsplit.traces.trace import Origin, Trace

if TYPE_CHECKING:
    from poolsplit.traces.mooncake import MooncakeRow
    from poolsplit.traces.reading import Faults, ReadOptions, Rows
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Floats, Ints


DELAYS_NOTE = "arrivals are sums of delays, without service times"
_REPEATS = (
    "the row repeats the beginning of its session, so it may be a whole prompt and not an increment; "
    "say which with `--dialect full` or `--dialect incremental`"
)


@dataclass(slots=True)
class _Turn:
    """Where a session stands after its last row."""

    row: int
    leaf: int
    first_id: int
    output_tokens: int


class IncrementalReader:
    """Rows that carry only what is new in their session."""

    incremental = True

    def __init__(self, options: ReadOptions, faults: Faults, block_tokens: int) -> None:
        self._options = options
        self._faults = faults
        self._block_tokens = block_tokens
        self._tree = TokenTree()
        self._last: dict[tuple[int, str], _Turn] = {}
        self._sessions: dict[tuple[int, str], int] = {}
        self._file = 0
        self._scope = 0
        self._integers: list[tuple[int, ...]] = []
        self._times: list[tuple[float | None, float | None]] = []

    def next_file(self) -> None:
        """The ids and sessions that follow are another file's."""
        self._file += 1
        if not self._options.shared_ids:
            self._scope += 1
            self._tree = TokenTree()

    def add(self, source: Source, rows: Rows[MooncakeRow]) -> None:
        """Adds lines of one file."""
        rows = reject_rows(source, rows, _without_session(rows), self._faults)
        rows, ids, ends = fitting_ids(source, rows, self._block_tokens, self._faults)
        for place, row in enumerate(rows.rows):
            own = ids[int(ends[place - 1]) if place else 0 : int(ends[place])]
            key = (self._file, str(row.session_id))
            if self._whole_prompt(key, row, own):
                reject_rows(source, rows, {place: ("$.hash_ids", _REPEATS)}, self._faults)
            else:
                self._add_row(key, row, own)

    def _whole_prompt(self, key: tuple[int, str], row: MooncakeRow, ids: Ints) -> bool:
        """Whether a row repeats the beginning of its session, as a whole prompt would."""
        turn = self._last.get(key)
        repeats = turn is not None and not row.is_restart and ids.size > 0 and int(ids[0]) == turn.first_id
        return repeats and self._options.dialect != "incremental"

    def _add_row(self, key: tuple[int, str], row: MooncakeRow, ids: Ints) -> None:
        number = len(self._integers)
        turn = None if row.is_restart else self._last.get(key)
        before = self._last.get(key)
        pieces: list[tuple[object, int]] = []
        if turn is not None:
            pieces.append((("answer", turn.row), turn.output_tokens))
        pieces += self._pieces(ids, row.input_length, number)
        leaf, parent, kept = self._tree.enter(number, pieces, turn.leaf if turn else ROOT)
        total = self._tree.depth(leaf)
        session = self._sessions.setdefault(key, len(self._sessions))
        first_id = turn.first_id if turn else int(ids[0]) if ids.size else -1
        self._integers.append(
            (session, self._scope, parent, kept, total - kept, before.row if before else -1, total, row.output_length)
        )
        self._times.append((row.timestamp, row.delay))
        self._last[key] = _Turn(row=number, leaf=leaf, first_id=first_id, output_tokens=row.output_length)

    def _pieces(self, ids: Ints, tokens: int, number: int) -> list[tuple[object, int]]:
        size = self._block_tokens
        pieces: list[tuple[object, int]] = [(raw, size) for raw in ids[: tokens // size].tolist()]
        if tokens % size:
            partial = int(ids[-1]) if ids.size > tokens // size else ("partial", number)
            pieces.append((partial, tokens % size))
        return pieces

    def trace(self) -> Trace:
        """All rows in file order.

        Raises:
            TraceFormatError: No line was good.
        """
        if not self._integers:
            raise TraceFormatError("the trace holds no requests", hint=NONE_SKIPPED)
        session, scope, parent, kept, new, after, inputs, outputs = np.array(self._integers, dtype=np.int64).T.copy()
        timestamps = column([time for time, _ in self._times])
        delays = column([delay for _, delay in self._times]) * SECONDS_PER_UNIT[self._options.time_unit or "ms"]
        on_one_clock = not np.isnan(timestamps).any()
        notes: tuple[str, ...] = ("rows are read as increments: lengths and ids of a later row are what it adds",)
        if on_one_clock:
            arrival, told = to_seconds(timestamps, unit=self._options.time_unit, default="ms")
        else:
            arrival, told = sums_of_delays(delays, after), (DELAYS_NOTE,)
        think = np.where(after >= 0, delays, np.nan)
        trace = Trace(
            origin=Origin(
                format="mooncake",
                dialect="incremental",
                clock="trace" if on_one_clock else "session",
                sessions_known=True,
                notes=(*notes, *told, *self._faults.notes()),
            ),
            block_tokens=1,
            session_names=tuple(name for _, name in self._sessions),
            arrival_s=arrival,
            session=session,
            scope=scope,
            agent=np.zeros_like(session),
            parent=parent,
            kept_blocks=kept,
            new_blocks=new,
            after=after,
            input_tokens=inputs,
            output_tokens=outputs,
            think_s=think,
            service_s=np.full(session.size, np.nan),
        )
        if on_one_clock and np.any(np.diff(arrival) < 0):
            from poolsplit.traces.reorder import take

            return take(trace, np.argsort(arrival, kind="stable"))
        return trace


def _without_session(rows: Rows[MooncakeRow]) -> dict[int, tuple[str, str]]:
    reason = ("$.session_id", "an increment needs the session that it belongs to")
    return {place: reason for place, row in enumerate(rows.rows) if row.session_id is None}


def sums_of_delays(delays: Floats, after: Ints) -> Floats:
    """Arrivals of rows that say only how long after the row before they were sent."""
    arrival = np.zeros(delays.size)
    for row, before in enumerate(after.tolist()):
        if before >= 0:
            arrival[row] = arrival[before] + np.nan_to_num(delays[row])
    return arrival
