"""Traces as Weka sessions, one a line."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import msgspec
import numpy as np

from poolsplit.traces.paths import Paths

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


def write_weka(trace: Trace, out: IO[bytes]) -> None:
    """Weka sessions, one a line; subagents' times count from their own start, which is their entry's `t`.

    A subagent that a turn waited for is `completed`, any other `async_launched`.

    Ids are shared between sessions where the trace shares them (`hash_id_scope` `global`), else they are `local`.
    """
    shared = len(trace) > 0 and int(trace.scope.max()) + 1 < trace.sessions
    writer = _Writer(trace)
    order = np.argsort(trace.session, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(trace.session[order])) + 1):
        session = int(trace.session[rows[0]])
        document = {
            "id": trace.session_names[session] if trace.session_names else f"session_{session:06d}",
            "models": [],
            "block_size": trace.require_blocks("the format `weka`"),
            "hash_id_scope": "global" if shared else "local",
            "tool_tokens": 0,
            "system_tokens": 0,
            "requests": writer.entries(rows.tolist()),
        }
        out.write(msgspec.json.encode(document) + b"\n")


class _Writer:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._paths = Paths(trace)

    def entries(self, rows: list[int]) -> list[dict[str, Any]]:
        """Entries of a session, each subagent at the place of its first request."""
        start_s = 0.0 if self._trace.origin.clock == "session" else float(self._trace.arrival_s[rows[0]])
        subagents: dict[int, dict[str, Any]] = {}
        entries: list[dict[str, Any]] = []
        for row in rows:
            agent = int(self._trace.agent[row])
            time_s = float(self._trace.arrival_s[row]) - start_s
            if agent == 0:
                entries.append(self._request(row, time_s))
                continue
            if agent not in subagents:
                entry = {"t": time_s, "type": "subagent", "agent_id": f"agent_{agent}", "status": "async_launched"}
                subagents[agent] = {**entry, "requests": []}
                entries.append(subagents[agent])
            subagents[agent]["requests"].append(self._request(row, time_s - subagents[agent]["t"]))
        for row in rows:
            before = int(self._trace.after[row])
            if self._trace.agent[row] == 0 and before >= 0 and self._trace.agent[before] > 0:
                subagents[int(self._trace.agent[before])]["status"] = "completed"
        return entries

    def _request(self, row: int, time_s: float) -> dict[str, Any]:
        trace = self._trace
        request: dict[str, Any] = {
            "t": time_s,
            "type": "n",
            "in": int(trace.input_tokens[row]),
            "out": int(trace.output_tokens[row]),
            "hash_ids": self._paths.ids(row).tolist(),
        }
        for name, column in (("api_time", trace.service_s), ("think_time", trace.think_s)):
            if not np.isnan(column[row]):
                request[name] = float(column[row])
        return request
