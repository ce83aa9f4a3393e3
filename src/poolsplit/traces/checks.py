"""The guarantees of `trace.py`, checked: every reader and every file goes through here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import InputError
from poolsplit.traces.trace import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from poolsplit.traces.trace import Trace

_FLOATS = {"arrival_s", "think_s", "service_s"}
_MADE_ANEW = "make the trace anew from its source"


def check(trace: Trace) -> Trace:
    """The same trace, when it keeps every guarantee that can be seen in its columns.

    Raises:
        InputError: One is broken; the message says which and at which row.
    """
    for name in COLUMNS:
        wanted = np.float64 if name in _FLOATS else np.int64
        if getattr(trace, name).dtype != wanted:
            raise InputError(f"the trace column `{name}` is not of type {np.dtype(wanted)}", hint=_MADE_ANEW)
    rows = np.arange(len(trace))
    before = np.maximum(trace.parent, 0)
    has_parent = trace.parent >= 0
    own_start, own_end = trace.kept_blocks[before], trace.blocks[before]
    tight = (trace.parent < rows) & (own_start < trace.kept_blocks) & (trace.kept_blocks <= own_end)
    _all(trace.input_tokens >= 0, "input tokens below 0")
    _all(trace.output_tokens >= 0, "output tokens below 0")
    _all((trace.kept_blocks >= 0) & (trace.new_blocks >= 0), "a negative number of blocks")
    _all((trace.kept_blocks > 0) == has_parent, "kept blocks without a parent, or a parent without kept blocks")
    _all(~has_parent | tight, "kept blocks that do not end among the parent's own")
    _all(~has_parent | (trace.scope[before] == trace.scope), "a parent of another scope")
    _all((trace.after < rows) & (trace.after >= -1), "a request that follows itself or a later one")
    for name in ("session", "scope"):
        _dense(getattr(trace, name), name)
    _covered(trace)
    _ordered(trace)
    return trace


def _covered(trace: Trace) -> None:
    if trace.block_tokens is None:
        _all(trace.blocks == 0, "blocks in a trace of lengths")
    else:
        over = trace.blocks * trace.block_tokens - trace.input_tokens
        _all(over < trace.block_tokens, "more blocks than the prompt has tokens")


def _ordered(trace: Trace) -> None:
    if trace.origin.clock == "order":
        _all(np.isnan(trace.arrival_s), "an arrival time in a trace that has only an order")
        return
    _all(trace.arrival_s >= 0, "an arrival time that is negative or no number")
    if trace.origin.clock == "trace":
        _all(np.diff(trace.arrival_s, prepend=0.0) >= 0, "an arrival before the one before it")


def _dense(column: NDArray[np.int64], name: str) -> None:
    if column.size and (column.min() != 0 or np.unique(column).size != column.max() + 1):
        raise InputError(f"the trace column `{name}` does not count from 0 without gaps", hint=_MADE_ANEW)


def _all(good: NDArray[np.bool_], fault: str) -> None:
    if not good.all():
        raise InputError(f"the trace has {fault}, first at row {int(np.argmin(good))}", hint=_MADE_ANEW)
