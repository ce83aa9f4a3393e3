"""Mooncake JSONL: `{timestamp, input_length, output_length, hash_ids}`, one request a line.

`hash_ids` has one id for each block of the prompt (512 tokens unless told otherwise), chained: an id stands for the
block and everything before it. Ids belong to their file. Timestamps count milliseconds from the start.

Two dialects look alike and mean different things:

- `full` (the published traces): every row carries its whole prompt.
- `incremental` (rows with `session_id` and usually `delay`): the first row of a session carries its whole prompt, each
  later one **only what is new**, in lengths and in ids. The prompt is then everything said before, answers included.

A file is one or the other. Reading increments as whole prompts would be a large and silent error, so rows that
disagree with the first row are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, SessionLog, TraceBuilder, unknown, zeros
from poolsplit.traces.clocks import to_seconds
from poolsplit.traces.ids import fitting_ids
from poolsplit.traces.mooncake_incremental import DELAYS_NOTE, IncrementalReader, sums_of_delays
from poolsplit.traces.reading import SECONDS_PER_UNIT, Faults, Length, column, decode_rows, reject_rows
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions, Rows
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Clock, Floats, Trace

BLOCK_TOKENS = 512
NAME = "mooncake"
_ABSENT = msgspec.Raw(b"")
_NULL = ord("n")
_Time = Annotated[float, msgspec.Meta(ge=0)]


class MooncakeRow(msgspec.Struct, gc=False):
    """One line."""

    input_length: Length
    output_length: Length
    timestamp: _Time | None = None
    hash_ids: msgspec.Raw = _ABSENT
    session_id: str | int | None = None
    delay: _Time | None = None
    is_restart: bool = False

    @property
    def incremental(self) -> bool:
        """Whether the row belongs to the dialect of increments."""
        return self.session_id is not None or self.delay is not None


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads Mooncake files in the dialect of their first row.

    Raises:
        TraceFormatError: A bad line, ids that do not fit the block size, or rows of two dialects.
    """
    faults = Faults(skip=options.skip_bad)
    reader: _FullReader | IncrementalReader | None = None
    for source in sources:
        if reader is not None:
            reader.next_file()
        for rows in decode_rows(source, MooncakeRow, faults):
            if reader is None and rows.rows:
                reader = _reader_for(rows.rows[0], options, faults)
            if reader is not None:
                reader.add(source, _one_dialect(source, rows, reader.incremental, options))
    if reader is None:
        raise TraceFormatError("the trace holds no requests", hint="is the file empty?")
    return reader.trace()


def _reader_for(row: MooncakeRow, options: ReadOptions, faults: Faults) -> _FullReader | IncrementalReader:
    incremental = row.incremental if options.dialect is None else options.dialect == "incremental"
    if incremental:
        return IncrementalReader(options, faults, options.block_tokens or BLOCK_TOKENS)
    return _FullReader(options, faults, row)


def _one_dialect(source: Source, rows: Rows[MooncakeRow], incremental: bool, options: ReadOptions) -> Rows[MooncakeRow]:
    if options.dialect is None:
        for place, row in enumerate(rows.rows):
            if row.incremental != incremental:
                raise TraceFormatError(
                    "the row is of another dialect than the first row: "
                    + ("no `session_id` among increments" if incremental else "an increment among whole prompts"),
                    hint="split the file, or say how to read all of it with `--dialect full` or `incremental`",
                    where=f"{source.name}:{rows.lines[place]}",
                )
    return rows


class _FullReader:
    """Rows that carry their whole prompt."""

    incremental = False

    def __init__(self, options: ReadOptions, faults: Faults, first: MooncakeRow) -> None:
        self._options = options
        self._faults = faults
        self._shape = _shape(first)
        self._block_tokens = options.block_tokens or BLOCK_TOKENS
        self._builder = TraceBuilder()
        self._sessions = SessionLog()
        self._timestamps: list[Floats] = []
        self._scope = 0

    def next_file(self) -> None:
        """The ids that follow are another file's."""
        self._sessions.next_file()
        if not self._options.shared_ids:
            self._scope += 1
            self._builder.close_scopes()

    def add(self, source: Source, rows: Rows[MooncakeRow]) -> None:
        """Adds lines of one file."""
        odd = {
            place: _disagreement(self._shape, shape)
            for place, shape in enumerate(map(_shape, rows.rows))
            if shape != self._shape
        }
        rows = reject_rows(source, rows, odd, self._faults)
        if self._shape.ids:
            rows, ids, ends = fitting_ids(source, rows, self._block_tokens, self._faults)
        else:
            ids, ends = zeros(0), zeros(len(rows.rows))
        count = len(rows.rows)
        session, after = self._sessions.place([row.session_id for row in rows.rows], self._builder.rows)
        self._timestamps.append(column([row.timestamp for row in rows.rows]))
        self._builder.add(
            Batch(
                arrival_s=unknown(count),
                session=session,
                scope=zeros(count) + self._scope,
                agent=zeros(count),
                after=after,
                input_tokens=np.array([row.input_length for row in rows.rows], dtype=np.int64),
                output_tokens=np.array([row.output_length for row in rows.rows], dtype=np.int64),
                think_s=column([row.delay for row in rows.rows]) * SECONDS_PER_UNIT[self._options.time_unit or "ms"],
                service_s=unknown(count),
                ids=ids,
                ends=ends,
            )
        )

    def trace(self) -> Trace:
        """All rows, in order of their timestamps where they have any."""
        stamps = np.concatenate(self._timestamps)
        clock: Clock = "trace" if not np.isnan(stamps).any() else "session" if self._shape.session else "order"
        notes: tuple[str, ...] = ()
        if clock == "trace":
            stamps, notes = to_seconds(stamps, unit=self._options.time_unit, default="ms")
        elif clock == "session":
            stamps, notes = sums_of_delays(*self._builder.columns("think_s", "after")), (DELAYS_NOTE,)
        self._builder.set_columns(arrival_s=stamps)
        origin = Origin(
            format=NAME,
            dialect="full" if self._shape.ids else "lengths",
            clock=clock,
            sessions_known=self._shape.session,
            notes=(*notes, *self._faults.notes()),
        )
        names = self._sessions.names if self._shape.session else ()
        block_tokens = self._block_tokens if self._shape.ids else None
        return self._builder.trace(origin=origin, block_tokens=block_tokens, session_names=names)


class _Shape(NamedTuple):
    """Which optional fields a row has; rows of a session may have a delay instead of a timestamp."""

    ids: bool
    timed: bool
    session: bool


def _shape(row: MooncakeRow) -> _Shape:
    ids = row.hash_ids is not _ABSENT and memoryview(row.hash_ids)[0] != _NULL
    session = row.session_id is not None
    return _Shape(ids, session or row.timestamp is not None, session)


def _disagreement(first: _Shape, row: _Shape) -> tuple[str, str]:
    names = ("hash_ids", "timestamp", "session_id")
    name = next(name for name, here, there in zip(names, row, first, strict=True) if here != there)
    return f"$.{name}", "some rows have it and some do not"
