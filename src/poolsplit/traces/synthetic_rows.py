"""From planned requests of sessions to one trace: whose prompt begins with whose, and on which clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.traces.reorder import take
from poolsplit.traces.trace import Origin
from poolsplit.traces.virtual import VirtualPrompts
from poolsplit.traces.virtual_trace import VirtualRequest, virtual_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.trace import Clock, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Service time of a request: a constant, the new part of its prompt at one rate, its answer at another."""

    base_s: float
    decode_tokens_per_s: float
    prefill_tokens_per_s: float

    def seconds(self, *, new_tokens: int, output_tokens: int) -> float:
        """Seconds from request to last token."""
        return self.base_s + output_tokens / self.decode_tokens_per_s + new_tokens / self.prefill_tokens_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One request of a session; rows are places in the session's list."""

    arrival_s: float
    input_tokens: int
    output_tokens: int
    service_s: float
    think_s: float = 0.0
    agent: int = 0
    after: int = -1
    """Row that this one waits for."""
    before: int = -1
    """Row whose prompt it goes on from; -1 for the first of a conversation."""
    kept_tokens: int = 0
    """Tokens kept of that prompt."""
    openings: tuple[tuple[str, int], ...] = ()
    """Known beginnings of a first prompt, longest first: a name and its tokens; whoever has it first makes it."""

    @property
    def end_s(self) -> float:
        """When the last token is there."""
        return self.arrival_s + self.service_s


def in_time_order(rows: Sequence[Planned]) -> list[Planned]:
    """The rows by arrival, with `after` and `before` pointing at the same requests."""
    order = sorted(range(len(rows)), key=lambda row: rows[row].arrival_s)
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    return [replace(rows[old], after=place[rows[old].after], before=place[rows[old].before]) for old in order]


class Planner:
    """Collects sessions.

    Args:
        block_tokens: Tokens of one block; a prompt has its whole blocks.
        scope_per_session: Sessions share nothing; otherwise equal openings are shared by all.
    """

    def __init__(self, *, block_tokens: int, scope_per_session: bool) -> None:
        self._block_tokens = block_tokens
        self._scope_per_session = scope_per_session
        self._prompts = VirtualPrompts()
        self._requests: list[VirtualRequest] = []
        self._openings: dict[str, int] = {}
        self._sessions = 0

    def __len__(self) -> int:
        return len(self._requests)

    def add_session(self, rows: Sequence[Planned]) -> None:
        """Adds the requests of one session in order of time."""
        first = len(self._requests)
        if self._scope_per_session:
            self._openings = {}
        for row in rows:
            self._add_prompt(row, first)
            self._requests.append(
                VirtualRequest(
                    session=self._sessions,
                    scope=self._sessions if self._scope_per_session else 0,
                    agent=row.agent,
                    after=row.after + first if row.after >= 0 else -1,
                    input_tokens=row.input_tokens,
                    output_tokens=row.output_tokens,
                    arrival_s=row.arrival_s,
                    think_s=row.think_s if row.after >= 0 else None,
                    service_s=row.service_s,
                )
            )
        self._sessions += 1

    def _add_prompt(self, row: Planned, first: int) -> None:
        of, kept_tokens = (row.before + first, row.kept_tokens) if row.before >= 0 else (-1, 0)
        if row.before < 0:
            of, kept_tokens = next(
                ((self._openings[name], tokens) for name, tokens in row.openings if name in self._openings), (-1, 0)
            )
        size = self._block_tokens
        here = self._prompts.add(blocks=row.input_tokens // size, kept_blocks=kept_tokens // size, of=of)
        for name, _ in row.openings:
            self._openings.setdefault(name, here)

    def trace(self, name: str, starts_s: Sequence[float] | None, *, context_cut_tokens: int | None = None) -> Trace:
        """All sessions, each on its own clock or beginning at the given times."""
        if starts_s is not None:
            self._requests = [
                replace(request, arrival_s=(request.arrival_s or 0.0) + starts_s[request.session])
                for request in self._requests
            ]
        clock: Clock = "session" if starts_s is None else "trace"
        origin = Origin(format=name, dialect="generated", clock=clock, sessions_known=True)
        trace = virtual_trace(self._requests, self._prompts, origin=origin, block_tokens=self._block_tokens)
        if context_cut_tokens is None:
            return trace
        return take(trace, np.flatnonzero(trace.input_tokens + trace.output_tokens <= context_cut_tokens))
