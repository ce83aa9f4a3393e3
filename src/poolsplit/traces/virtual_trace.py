"""The trace of requests whose prompts are virtual: one list of plain values to columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.traces.reading import column
from poolsplit.traces.reorder import take
from poolsplit.traces.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.trace import Ints, Origin
    from poolsplit.traces.virtual import VirtualPrompts


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualRequest:
    """One request beside its prompt; None is not recorded."""

    session: int
    after: int
    input_tokens: int
    output_tokens: int
    agent: int = 0
    scope: int = 0
    arrival_s: float | None = None
    think_s: float | None = None
    service_s: float | None = None


def virtual_trace(
    requests: Sequence[VirtualRequest],
    prompts: VirtualPrompts,
    *,
    origin: Origin,
    block_tokens: int = 1,
    session_names: Sequence[str] = (),
) -> Trace:
    """One trace of requests and their prompts, row by row; on one clock, in order of arrival."""
    parent, kept, new = prompts.columns()
    trace = Trace(
        origin=origin,
        block_tokens=block_tokens,
        session_names=tuple(session_names),
        arrival_s=column([request.arrival_s for request in requests]),
        session=_ints([request.session for request in requests]),
        scope=_ints([request.scope for request in requests]),
        agent=_ints([request.agent for request in requests]),
        parent=parent,
        kept_blocks=kept,
        new_blocks=new,
        after=_ints([request.after for request in requests]),
        input_tokens=_ints([request.input_tokens for request in requests]),
        output_tokens=_ints([request.output_tokens for request in requests]),
        think_s=column([request.think_s for request in requests]),
        service_s=column([request.service_s for request in requests]),
    )
    if origin.clock == "trace" and np.any(np.diff(trace.arrival_s) < 0):
        return take(trace, np.argsort(trace.arrival_s, kind="stable"))
    return trace


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
