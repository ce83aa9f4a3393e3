"""Batches of requests to one `Trace`: the work that is the same for every format."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.traces.prefix_fold import PrefixFold
from poolsplit.traces.reorder import take
from poolsplit.traces.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.trace import Floats, Ints, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some requests, column by column, in time order.

    Shapes:
        every array: (requests of the batch,), but `ids`: (blocks of all of them,)
    """

    arrival_s: Floats
    session: Ints
    scope: Ints
    agent: Ints
    after: Ints
    """Row of the whole trace, or -1."""
    input_tokens: Ints
    output_tokens: Ints
    think_s: Floats
    service_s: Floats
    ids: Ints
    """Raw block ids, one prompt behind the other."""
    ends: Ints
    """Where each prompt ends in `ids`."""


def zeros(rows: int) -> Ints:
    """A column of zeros."""
    return np.zeros(rows, dtype=np.int64)


def nothing(rows: int) -> Ints:
    """A column of -1: no such row."""
    return np.full(rows, -1, dtype=np.int64)


def unknown(rows: int) -> Floats:
    """A column of NaN: not recorded."""
    return np.full(rows, np.nan)


class SessionLog:
    """Which session each row belongs to and which row it follows there; a row without a name is its own session."""

    def __init__(self) -> None:
        self._file = 0
        self._places: dict[tuple[int, str], int] = {}
        self._last: dict[int, int] = {}
        self._count = 0
        self.names: list[str] = []

    def next_file(self) -> None:
        """Names that follow are another file's."""
        self._file += 1

    def place(self, names: Sequence[object], first_row: int) -> tuple[Ints, Ints]:
        """Session and row before in that session, of consecutive rows.

        Shapes:
            result: (len(names),), (len(names),)
        """
        session = zeros(len(names))
        after = nothing(len(names))
        for index, name in enumerate(names):
            if name is None:
                session[index] = self._count
                self._count += 1
                continue
            key = (self._file, str(name))
            if key not in self._places:
                self._places[key] = self._count
                self.names.append(str(name))
                self._count += 1
            session[index] = self._places[key]
            after[index] = self._last.get(self._places[key], -1)
            self._last[self._places[key]] = first_row + index
        return session, after


class TraceBuilder:
    """Collects batches; block ids are folded into ranges as they come, so no prompt is kept."""

    def __init__(self) -> None:
        self.rows = 0
        self._fold = PrefixFold()
        self._columns: dict[str, list[Floats | Ints]] = {
            f.name: [] for f in fields(Batch) if f.name not in {"ids", "ends"}
        }

    def add(self, batch: Batch) -> None:
        """Adds requests; block ids of equal scopes mean the same blocks until `close_scopes`."""
        for name, parts in self._columns.items():
            parts.append(getattr(batch, name))
        self._fold.add(batch.ids, batch.ends, batch.scope)
        self.rows += batch.arrival_s.size

    def close_scopes(self) -> None:
        """Later rows use other scopes than earlier ones."""
        self._fold.close_scopes()

    def columns(self, *names: str) -> tuple[Any, ...]:
        """Columns of all rows so far."""
        return tuple(_joined(self._columns[name]) for name in names)

    def set_columns(self, **columns: Floats | Ints) -> None:
        """Whole columns, for what is known only when all rows are read."""
        for name, column in columns.items():
            self._columns[name] = [column]

    def trace(self, *, origin: Origin, block_tokens: int | None, session_names: Sequence[str] = ()) -> Trace:
        """The trace of all batches; rows on one clock are put in order of arrival."""
        parent, kept, new = self._fold.result()
        columns = {name: _joined(parts) for name, parts in self._columns.items()}
        trace = Trace(
            origin=origin,
            block_tokens=block_tokens,
            session_names=tuple(session_names),
            parent=parent,
            kept_blocks=kept,
            new_blocks=new,
            **columns,
        )
        if origin.clock == "trace" and np.any(np.diff(trace.arrival_s) < 0):
            return take(trace, np.argsort(trace.arrival_s, kind="stable"))
        return trace


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0)


def misfit_blocks(input_tokens: Ints, blocks: Ints, block_tokens: int) -> Ints:
    """Places of prompts whose number of blocks cannot belong to their number of tokens.

    A format lists all blocks, with or without the last partial one, so `input // block` or one more.
    """
    whole = input_tokens // block_tokens
    partial = -(-input_tokens // block_tokens)
    return np.flatnonzero((blocks != whole) & (blocks != partial))
