"""Qwen-Bailian JSONL: chat requests of a cloud service with 16-token block ids and a tree of chats.

`{chat_id, parent_chat_id, timestamp, input_length, output_length, type, turn, hash_ids}`: `timestamp` in seconds,
`parent_chat_id` -1 for the first turn. Lengths and ids are of the whole prompt, never increments. A session is a tree
of chats; a chat follows its parent.

Known error: the service strips reasoning tokens between turns, so an answer comes back shorter than it was generated,
and the last block of a prompt may have another id once the answer has filled it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, TraceBuilder, nothing, unknown, zeros
from poolsplit.traces.clocks import to_seconds
from poolsplit.traces.ids import fitting_ids
from poolsplit.traces.reading import Faults, Length, column, decode_rows, fault, reject_rows
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions, Rows
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Floats, Ints, Trace

BLOCK_TOKENS = 16
_NO_PARENT = "-1"


class BailianRow(msgspec.Struct, gc=False):
    """One line."""

    chat_id: int | str
    timestamp: Annotated[float, msgspec.Meta(ge=0)]
    input_length: Length
    output_length: Length
    hash_ids: msgspec.Raw
    parent_chat_id: int | str = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chat:
    row: int
    parent: tuple[int, str] | None
    where: tuple[str, int]


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads chats and links each to its parent.

    Raises:
        TraceFormatError: A bad line, one chat twice, a parent that comes later, or parents in a circle.
    """
    reader = _Reader(options)
    for number, source in enumerate(sources):
        reader.next_file(number)
        for rows in decode_rows(source, BailianRow, reader.faults):
            reader.add(source, rows)
    return reader.trace()


class _Reader:
    def __init__(self, options: ReadOptions) -> None:
        self.faults = Faults(skip=options.skip_bad)
        self._options = options
        self._block_tokens = options.block_tokens or BLOCK_TOKENS
        self._builder = TraceBuilder()
        self._chats: dict[tuple[int, str], _Chat] = {}
        self._times: list[Floats] = []
        self._file = 0
        self._scope = 0

    def next_file(self, number: int) -> None:
        """Chats, and ids unless they are shared, are another file's."""
        self._file = number
        if not self._options.shared_ids and number > 0:
            self._scope = number
            self._builder.close_scopes()

    def add(self, source: Source, rows: Rows[BailianRow]) -> None:
        """Adds lines of one file."""
        rows = reject_rows(source, rows, self._twice(rows), self.faults)
        rows, ids, ends = fitting_ids(source, rows, self._block_tokens, self.faults)
        count = len(rows.rows)
        for place, row in enumerate(rows.rows):
            parent = None if str(row.parent_chat_id) == _NO_PARENT else (self._file, str(row.parent_chat_id))
            where = (source.name, int(rows.lines[place]))
            key = (self._file, str(row.chat_id))
            self._chats[key] = _Chat(row=self._builder.rows + place, parent=parent, where=where)
        self._times.append(column([row.timestamp for row in rows.rows]))
        self._builder.add(
            Batch(
                arrival_s=unknown(count),
                session=zeros(count),
                scope=zeros(count) + self._scope,
                agent=zeros(count),
                after=nothing(count),
                input_tokens=np.array([row.input_length for row in rows.rows], dtype=np.int64),
                output_tokens=np.array([row.output_length for row in rows.rows], dtype=np.int64),
                think_s=unknown(count),
                service_s=unknown(count),
                ids=ids,
                ends=ends,
            )
        )

    def _twice(self, rows: Rows[BailianRow]) -> dict[int, tuple[str, str]]:
        seen: set[str] = set()
        bad: dict[int, tuple[str, str]] = {}
        for place, row in enumerate(rows.rows):
            name = str(row.chat_id)
            if name in seen or (self._file, name) in self._chats:
                bad[place] = ("$.chat_id", f"chat `{name}` was read before")
            seen.add(name)
        return bad

    def trace(self) -> Trace:
        """All chats in order of arrival."""
        if not self._chats:
            raise TraceFormatError("the trace holds no requests", hint="is the file empty?")
        stamps = np.concatenate(self._times)
        arrival, told = to_seconds(stamps, unit=self._options.time_unit, default="s")
        after, lost = self._parents()
        self._check_times(arrival, after)
        notes = [*told]
        if lost:
            notes.append(f"chats whose parent is not in the trace start sessions of their own: {lost}")
        session = _roots(after)
        self._builder.set_columns(arrival_s=arrival, after=after, session=session)
        origin = Origin(
            format="bailian",
            dialect="full",
            clock="trace",
            sessions_known=True,
            notes=(*notes, *self.faults.notes()),
        )
        return self._builder.trace(origin=origin, block_tokens=self._block_tokens)

    def _parents(self) -> tuple[Ints, int]:
        after = nothing(self._builder.rows)
        lost = 0
        for chat in self._chats.values():
            if chat.parent is None:
                continue
            parent = self._chats.get(chat.parent)
            if parent is None:
                lost += 1
            else:
                after[chat.row] = parent.row
        return after, lost

    def _check_times(self, arrival: Floats, after: Ints) -> None:
        """Parents must come earlier, which also rules out parents in a circle."""
        places = np.empty(arrival.size, dtype=np.int64)
        places[np.argsort(arrival, kind="stable")] = np.arange(arrival.size)
        for (_, name), chat in self._chats.items():
            before = after[chat.row]
            if before >= 0 and places[before] >= places[chat.row]:
                reason = f"the parent of chat `{name}` does not come before it: parents run in a circle or back in time"
                raise fault(*chat.where, reason, "$.parent_chat_id")


def _roots(after: Ints) -> Ints:
    """Session of each row: the tree it hangs in, numbered by root.

    Shapes:
        after: (rows,), without circles
        result: (rows,)
    """
    root = np.where(after >= 0, after, np.arange(after.size))
    while True:
        higher = root[root]
        if np.array_equal(higher, root):
            break
        root = higher
    return np.unique(root, return_inverse=True)[1].astype(np.int64)
