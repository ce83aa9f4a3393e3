"""Weka sessions as they stand in a file, and their requests laid out on one clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from poolsplit.traces.reading import Length  # noqa: TC001  read at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.traces.trace import Ints

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
class Placed:
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


def proof(entry: Subagent) -> Iterator[Clock]:
    """The clock of a subagent's requests, where their times leave only one."""
    times = [request.t for request in entry.requests]
    if min(times) < entry.t:
        yield "relative"
    elif entry.duration_ms and max(times) > entry.duration_ms / 1000:
        yield "absolute"


class Layout:
    """Lays the requests of a session out on its clock; subagents are numbered as they stand in the file."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._agents = 0

    def placed(self, owner: Session | Subagent, path: str, *, agent: int = 0, start_s: float = 0.0) -> Iterator[Placed]:
        """Requests in the order of the file, with times since the session's start."""
        for index, entry in enumerate(owner.requests):
            inner = f"{path}.requests[{index}]"
            if isinstance(entry, Subagent):
                self._agents += 1
                yield from self.placed(entry, inner, agent=self._agents, start_s=self._start(entry, start_s))
                continue
            yield Placed(
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


def followed(placed: list[Placed]) -> Ints:
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
