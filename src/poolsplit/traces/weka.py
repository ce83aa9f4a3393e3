"""Weka / cc-traces JSON: one coding-agent session a file or a line, with its subagents inside.

A session lists its requests with `t` seconds from its start, `in`, `out`, 64-token `hash_ids` (whole blocks only or
with the last partial one), `api_time` and `think_time`; an entry of type `subagent` holds requests of its own. They
count in the scope of their session, in time order.

Two things differ between corpora and are never mixed:

- the clock of a subagent's requests: `relative` to its own start, or `absolute` in the session. An inner first `t`
  before the entry's own `t` proves `relative`; an inner `t` past the entry's `duration_ms` proves `absolute`.
- `hash_id_scope`: `local` ids mean nothing outside their session, `global` ids are shared by all sessions that say so.

The `t` of an entry with relative times is its **end** when it has a duration: it started `duration_ms` before. (In the
published corpus all 53 completed subagents start after the turn before them when read so, and end before the next one
where there is one; read as a start, 41 would still run then.) A turn waits for completed subagents: it follows the one
that ended last, if that ended after the turn before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, TraceBuilder, misfit_blocks, zeros
from poolsplit.traces.clocks import gaps
from poolsplit.traces.ids import raw_ids
from poolsplit.traces.reading import Faults, column, decode_documents, fault
from poolsplit.traces.shared_system import share_system_prompts
from poolsplit.traces.trace import Origin
from poolsplit.traces.weka_session import Layout, Session, Subagent, followed, proof

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints, Trace
    from poolsplit.traces.weka_session import Clock, Placed

NAME = "weka"


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads sessions, one a file or one a line.

    Raises:
        TraceFormatError: A bad session, one session twice, or corpora of two kinds.
    """
    reader = _Reader(options)
    for source in sources:
        for line, session in decode_documents(source, Session, reader.faults):
            try:
                reader.add(f"{source.name}:{line}", session)
            except _BadSessionError as error:
                reader.faults.reject(fault(source.name, line, str(error), error.path))
    return reader.trace()


class _BadSessionError(Exception):
    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class _Reader:
    def __init__(self, options: ReadOptions) -> None:
        self.faults = Faults(skip=options.skip_bad)
        self._options = options
        self._builder = TraceBuilder()
        self._names: dict[str, str] = {}
        self._kinds: dict[tuple[int, str], str] = {}
        self._clocks: dict[Clock, str] = {}
        self._assumed: list[str] = []
        self._system_tokens: list[int] = []

    def add(self, where: str, session: Session) -> None:
        """Adds one session; nothing of it stays when it is bad."""
        name = str(session.id)
        if name in self._names:
            raise _BadSessionError("$.id", f"session `{name}` was read before, from {self._names[name]}")
        layout = Layout(self._clock(where, session))
        placed = sorted(layout.placed(session, "$"), key=lambda place: place.time_s)
        ids, ends = _session_ids(placed, session.block_size)
        self._one_kind(where, session)
        local = session.hash_id_scope == "local"
        if local:
            self._builder.close_scopes()
        number = len(self._names)
        self._builder.add(
            _batch(placed, ids, ends, session=number, scope=number if local else 0, first=self._builder.rows)
        )
        self._names[name] = where
        self._system_tokens += [place.system_tokens for place in placed]

    def _one_kind(self, where: str, session: Session) -> None:
        self._kinds.setdefault((session.block_size, session.hash_id_scope), where)
        if len(self._kinds) > 1:
            (one, first), (two, second) = list(self._kinds.items())[:2]
            raise TraceFormatError(
                f"blocks of {two[0]} tokens with {two[1]} ids, but {one[0]} with {one[1]} ids in {first}",
                hint="read each corpus by itself",
                where=second,
            )

    def _clock(self, where: str, session: Session) -> Clock:
        if self._options.dialect is not None:
            return "relative" if self._options.dialect == "relative" else "absolute"
        entries = [
            entry for entry in session.requests if isinstance(entry, Subagent) and entry.requests and entry.t > 0
        ]
        proven = {clock for entry in entries for clock in proof(entry)}
        for clock in proven:
            self._clocks.setdefault(clock, where)
        if len(self._clocks) > 1:
            raise TraceFormatError(
                f"subagents count time from the session's start, but from their own in {self._clocks['relative']}",
                hint="read each corpus by itself, or give `--dialect relative` or `--dialect absolute`",
                where=self._clocks["absolute"],
            )
        if entries and not proven:
            self._assumed.append(where)
        return proven.pop() if proven else "absolute"

    def trace(self) -> Trace:
        """All sessions, one behind the other."""
        if not self._names:
            raise TraceFormatError("the trace holds no sessions", hint="is the file empty?")
        if self._assumed and "relative" in self._clocks:
            raise TraceFormatError(
                "the subagents' clock cannot be told here, and other sessions count from the subagent's own start",
                hint="give `--dialect relative`",
                where=self._assumed[0],
            )
        (block_tokens, scope), _ = next(iter(self._kinds.items()))
        dialect = self._options.dialect or next(iter(self._clocks), "absolute")
        shared = "no two sessions share a prefix" if scope == "local" else "sessions share prefixes"
        notes = [f"block ids are {scope}: {shared}"]
        if self._clocks or self._assumed:
            notes.append(f"times of subagents are read as {dialect}")
        notes += self.faults.notes()
        origin = Origin(format=NAME, dialect=dialect, clock="session", sessions_known=True, notes=tuple(notes))
        trace = self._builder.trace(origin=origin, block_tokens=block_tokens, session_names=tuple(self._names))
        if self._options.share_system:
            return share_system_prompts(trace, np.array(self._system_tokens, dtype=np.int64))
        return trace


def _session_ids(placed: list[Placed], block_tokens: int) -> tuple[Ints, Ints]:
    """Block ids of a session's requests and where each request's ids end."""
    ids, ends, bad = raw_ids([place.request.hash_ids for place in placed])
    for index, (path, message) in bad.items():
        raise _BadSessionError(f"{placed[index].path}.hash_ids{path}", message)
    lengths = np.array([place.request.input_length for place in placed], dtype=np.int64)
    blocks = np.diff(ends, prepend=0)
    for index in misfit_blocks(lengths, blocks, block_tokens):
        raise _BadSessionError(
            f"{placed[index].path}.hash_ids",
            f"{blocks[index]} ids do not cover {lengths[index]} tokens in blocks of {block_tokens}",
        )
    return ids, ends


def _batch(placed: list[Placed], ids: Ints, ends: Ints, *, session: int, scope: int, first: int) -> Batch:
    before = followed(placed)
    agents = {0: 0}
    arrival = np.array([place.time_s for place in placed], dtype=np.float64)
    service = column([place.request.api_time for place in placed])
    own_line = np.array(
        [row >= 0 and placed[row].agent == place.agent for row, place in zip(before, placed, strict=True)]
    )
    recorded = np.where(own_line, column([place.request.think_time for place in placed]), np.nan)
    return Batch(
        arrival_s=arrival,
        session=zeros(len(placed)) + session,
        scope=zeros(len(placed)) + scope,
        agent=np.array([agents.setdefault(place.agent, len(agents)) for place in placed], dtype=np.int64),
        after=np.where(before >= 0, before + first, -1),
        input_tokens=np.array([place.request.input_length for place in placed], dtype=np.int64),
        output_tokens=np.array([place.request.output_length for place in placed], dtype=np.int64),
        think_s=np.where(np.isnan(recorded), gaps(arrival, service, before), recorded),
        service_s=service,
        ids=ids,
        ends=ends,
    )
