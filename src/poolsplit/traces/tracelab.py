"""TraceLab JSONL: one model round of a coding agent a line, without block ids.

`input_tokens_total = prefix_tokens + newly_append_tokens`; the prefix is what the provider's cache held. It is read as
what the prompt shares with the round before it in its session, and as nothing more: sharing between sessions is not
recorded, and content that a cache had dropped looks new. Reuse from such a trace is therefore a lower bound.

A round is sent at its last input event (`user_message` or `tool_result`) and ends at its last output event.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 -- msgspec needs it when it decodes
from typing import TYPE_CHECKING

import msgspec

from poolsplit.errors import TraceFormatError
from poolsplit.traces.reading import Faults, Length, decode_rows, fault
from poolsplit.traces.trace import Origin
from poolsplit.traces.virtual import VirtualPrompts
from poolsplit.traces.virtual_trace import VirtualRequest, virtual_trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Trace

_INPUT_EVENTS = {"user_message", "tool_result"}


class Event(msgspec.Struct, gc=False):
    """Something that happened in a round."""

    event_type: str
    timestamp: datetime


class Round(msgspec.Struct):
    """One line."""

    session_id: str
    round_index: Length
    input_tokens_total: Length
    prefix_tokens: Length
    newly_append_tokens: Length
    output_tokens: Length
    timing_events: list[Event]


class _BadRoundError(Exception):
    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads rounds and chains those of a session.

    Raises:
        TraceFormatError: A bad line, a round twice, or lengths that do not add up.
    """
    faults = Faults(skip=options.skip_bad)
    rounds: dict[tuple[str, int], tuple[Round, str, int]] = {}
    for source in sources:
        for rows in decode_rows(source, Round, faults):
            for row, line in zip(rows.rows, rows.lines.tolist(), strict=True):
                try:
                    _check(row, rounds)
                    rounds[row.session_id, row.round_index] = (row, source.name, line)
                except _BadRoundError as error:
                    faults.reject(fault(source.name, line, str(error), error.path))
    if not rounds:
        raise TraceFormatError("the trace holds no rounds", hint="is the file empty?")
    return _trace(rounds, faults)


def _check(row: Round, known: dict[tuple[str, int], tuple[Round, str, int]]) -> None:
    if row.prefix_tokens + row.newly_append_tokens != row.input_tokens_total:
        raise _BadRoundError("$.input_tokens_total", "prefix and appended tokens do not add up to the total")
    if not row.timing_events:
        raise _BadRoundError("$.timing_events", "a round without events has no time")
    if (row.session_id, row.round_index) in known:
        raise _BadRoundError("$.round_index", f"round {row.round_index} of this session was read before")


def _trace(rounds: dict[tuple[str, int], tuple[Round, str, int]], faults: Faults) -> Trace:
    names = list(dict.fromkeys(session for session, _ in rounds))
    places = {name: place for place, name in enumerate(names)}
    zero = min(_sent(row) for row, _, _ in rounds.values())
    prompts = VirtualPrompts()
    requests: list[VirtualRequest] = []
    last: dict[str, int] = {}
    for name, index in sorted(rounds, key=lambda key: (places[key[0]], key[1])):
        row, file, line = rounds[name, index]
        before = last.get(name, -1)
        arrival_s = _sent(row) - zero
        if before >= 0 and arrival_s < (requests[before].arrival_s or 0.0):
            faults.reject(fault(file, line, "the round was sent before the round before it", "$.timing_events"))
            continue
        last[name] = prompts.add(blocks=row.input_tokens_total, kept_blocks=row.prefix_tokens, of=before)
        requests.append(_request(row, places[name], before, arrival_s, requests))
    origin = Origin(
        format="tracelab",
        dialect="measured",
        clock="trace",
        sessions_known=True,
        notes=(
            "prefixes are as the provider's cache measured them, within sessions only: reuse is a lower bound",
            *faults.notes(),
        ),
    )
    return virtual_trace(requests, prompts, origin=origin, session_names=names)


def _request(row: Round, session: int, before: int, arrival_s: float, earlier: list[VirtualRequest]) -> VirtualRequest:
    think_s = None
    if before >= 0:
        previous = earlier[before]
        think_s = max(arrival_s - (previous.arrival_s or 0.0) - (previous.service_s or 0.0), 0.0)
    return VirtualRequest(
        session=session,
        after=before,
        input_tokens=row.input_tokens_total,
        output_tokens=row.output_tokens,
        arrival_s=arrival_s,
        think_s=think_s,
        service_s=max(event.timestamp.timestamp() for event in row.timing_events) - _sent(row),
    )


def _sent(row: Round) -> float:
    inputs = [event for event in row.timing_events if event.event_type in _INPUT_EVENTS]
    return max(event.timestamp.timestamp() for event in inputs or row.timing_events[:1])
