"""Weka / cc-traces JSON: one coding-agent session a file or a line, with its subagents inside.

A session lists its requests with `t` seconds from its start, `in`, `out`, 64-token `hash_ids` (whole blocks only or
with the last partial one), `api_time` and `think_time`; an entry of type `subagent` holds requests of its own. They
count in the scope of their session, in time order.

Two things differ between corpora and are never mixed:

- the clock of a subagent's requests: `relative` to its own start, or `absolute` in the session. An inner first `t`
  before the entry's own `t` proves `relative`; an inner `t` past the entry's `duration_ms` proves `absolute`.
- `hash_id_scope`: `local` ids mean nothing outside their session, `global` ids are shared by all sessions that say so.

The `t` of an entry with relative times is its **end** when it has a duration: it started `duration_ms` before. (In the
published corpus all 53 completed subagents start after the turn before them when read so, and all end before the next
one; read as a start, 41 would still run then.) A turn waits for completed subagents: it follows the one that ended
last, if that ended after the turn before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, TraceBuilder, misfit_blocks, zeros
from poolsplit.traces.clocks import gaps
from poolsplit.traces.ids import raw_ids
from poolsplit.traces.reading import Faults, Length, column, decode_documents, fault
from poolsplit.traces.shared_system import share_system_prompts
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints, Trace

NAME = "weka"
_Seconds = Annotated[float, msgspec.Meta(ge=0)]
Clock = Literal["relative", "absolute"]
_COMPLETED = "completed"


class Request(msgspec.Struct, gc=False, tag="n", tag_field="type"):
    """A request without streaming."""

    t: _Seconds
    input_length: Length = msgspec.field(name="in")
    output_length: Length = msgspec.field(name="out")
    hash_ids: msgspec.Raw
    api_time: _Seconds | None = None
    think_time: _Seconds | None = None


class StreamingRequest(Request, gc=False, tag="s", tag_field="type"):
    """A request with streaming."""


class Subagent(msgspec.Struct, tag="subagent", tag_field="type"):
    """A subagent with its own requests, and perhaps subagents."""

    t: _Seconds
    requests: list[Request | StreamingRequest | Subagent]
    duration_ms: _Seconds | None = None
    status: str = ""
    tool_tokens: Length = 0
    system_tokens: Length = 0


class Session(msgspec.Struct):
    """One file or line."""

    id: str | int
    requests: list[Request | StreamingRequest | Subagent]
    block_size: Annotated[int, msgspec.Meta(ge=1)]
    hash_id_scope: Literal["local", "global"] = "local"
    tool_tokens: Length = 0
    system_tokens: Length = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A request with its place in the session."""

    time_s: float
    agent: int
    request: Request
    system_tokens: int
    path: str
    gate: bool
    """Whether the session's next turn waits for the subagent that this request belongs to."""

    @property
    def end_s(self) -> float:
        """When its last token came, as far as that is recorded."""
        return self.time_s + (self.request.api_time or 0.0)


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
        layout = _Layout(self._clock(where, session))
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
        proven = {clock for entry in entries for clock in _proof(entry)}
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


def _proof(entry: Subagent) -> Iterator[Clock]:
    times = [request.t for request in entry.requests]
    if min(times) < entry.t:
        yield "relative"
    elif entry.duration_ms and max(times) > entry.duration_ms / 1000:
        yield "absolute"


class _Layout:
    """Lays the requests of a session out on its clock; subagents are numbered as they stand in the file."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._agents = 0

    def placed(
        self, owner: Session | Subagent, path: str, *, agent: int = 0, start_s: float = 0.0
    ) -> Iterator[_Placed]:
        """Requests in the order of the file, with times since the session's start."""
        for index, entry in enumerate(owner.requests):
            inner = f"{path}.requests[{index}]"
            if isinstance(entry, Subagent):
                self._agents += 1
                yield from self.placed(entry, inner, agent=self._agents, start_s=self._start(entry, start_s))
                continue
            yield _Placed(
                time_s=start_s + entry.t,
                agent=agent,
                request=entry,
                system_tokens=owner.tool_tokens + owner.system_tokens,
                path=inner,
                gate=isinstance(owner, Subagent) and owner.status == _COMPLETED,
            )

    def _start(self, entry: Subagent, start_s: float) -> float:
        if self._clock == "absolute":
            return 0.0
        return start_s + max(entry.t - (entry.duration_ms or 0.0) / 1000, 0.0)


def _followed(placed: list[_Placed]) -> Ints:
    """For each request, in order of time, the one that it follows.

    That is the request before it of its own line, or for the first of a subagent the last of the main line. A main
    turn follows the end of a completed subagent instead, when that came later than the end of the turn before.

    Shapes:
        result: (len(placed),), -1 for none
    """
    last: dict[int, int] = {}
    gates: dict[int, int] = {}
    before: list[int] = []
    for row, place in enumerate(placed):
        found = last.get(place.agent, last.get(0, -1))
        if place.agent == 0:
            ended = [gate for gate in gates.values() if placed[gate].end_s <= place.time_s]
            found = max([*ended, found], key=lambda other: placed[other].end_s if other >= 0 else -1.0)
            gates = {}
        elif place.gate:
            gates[place.agent] = row
        before.append(found)
        last[place.agent] = row
    return np.array(before, dtype=np.int64)


def _session_ids(placed: list[_Placed], block_tokens: int) -> tuple[Ints, Ints]:
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


def _batch(placed: list[_Placed], ids: Ints, ends: Ints, *, session: int, scope: int, first: int) -> Batch:
    before = _followed(placed)
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
