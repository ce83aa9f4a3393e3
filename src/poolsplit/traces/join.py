"""Several traces on one clock as one; prompts of different traces share nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.traces.reorder import take
from poolsplit.traces.trace import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.trace import Trace

_COUNTED = {"session", "scope"}
_ROWS = {"parent", "after"}


def join(traces: Sequence[Trace], name: str) -> Trace:
    """One trace of all requests in order of arrival.

    The traces have blocks of one size and arrival times on one clock.
    """
    first, *more = traces
    for trace in traces:
        trace.require_clock("joining traces")
    if not more:
        return replace(first, origin=replace(first.origin, format=name))
    columns: dict[str, Any] = {column: _joined(traces, column) for column in COLUMNS}
    joined = replace(first, origin=replace(first.origin, format=name), session_names=(), **columns)
    return take(joined, np.argsort(joined.arrival_s, kind="stable"))


def _joined(traces: Sequence[Trace], column: str) -> Any:
    parts = []
    offset = 0
    for trace in traces:
        values = getattr(trace, column)
        if column in _ROWS:
            parts.append(np.where(values >= 0, values + offset, -1))
            offset += len(trace)
        elif column in _COUNTED:
            parts.append(values + offset)
            offset += int(values.max()) + 1
        else:
            parts.append(values)
    return np.concatenate(parts)
