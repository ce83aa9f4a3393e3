"""A trace with its rows in another order, or with some of them: exact, without spelling prompts out."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolsplit.traces.trace import Ints, Trace


def take(trace: Trace, order: Ints) -> Trace:
    """The rows `order`, in that order, with their places in the prefix tree of the new order.

    A row whose `after` is left out follows the nearest row before it that is kept.

    Shapes:
        order: (rows wanted,), each row at most once
    """
    parent, kept, new = _Replanter(trace).plant(order)
    places = np.full(len(trace), -1, dtype=np.int64)
    places[order] = np.arange(order.size)
    session, names = _dense_sessions(trace, order)
    return replace(
        trace,
        session_names=names,
        arrival_s=trace.arrival_s[order],
        session=session,
        scope=np.unique(trace.scope[order], return_inverse=True)[1],
        agent=trace.agent[order],
        parent=parent,
        kept_blocks=kept,
        new_blocks=new,
        after=_after(trace.after, order, places),
        input_tokens=trace.input_tokens[order],
        output_tokens=trace.output_tokens[order],
        think_s=trace.think_s[order],
        service_s=trace.service_s[order],
    )


def _dense_sessions(trace: Trace, order: Ints) -> tuple[Ints, tuple[str, ...]]:
    kept, session = np.unique(trace.session[order], return_inverse=True)
    names = tuple(trace.session_names[old] for old in kept) if trace.session_names else ()
    return session, names


def _after(after: Ints, order: Ints, places: Ints) -> Ints:
    result = np.full(order.size, -1, dtype=np.int64)
    for place, row in enumerate(order):
        before = after[row]
        while before >= 0 and places[before] < 0:
            before = after[before]
        result[place] = places[before] if before >= 0 else -1
    return result


@dataclass(slots=True)
class _Edge:
    """What the new order has entered so far of one row's new blocks."""

    ends: list[int] = field(default_factory=list)
    """Blocks from the edge's start that were there after each entry, rising."""
    makers: list[int] = field(default_factory=list)
    """New row that made each entry."""


class _Replanter:
    """Enters the paths of a trace into a second prefix tree, edge by edge from the leaf up."""

    def __init__(self, trace: Trace) -> None:
        self._parent = trace.parent.tolist()
        self._kept = trace.kept_blocks.tolist()
        self._new = trace.new_blocks.tolist()
        self._edges: dict[int, _Edge] = {}

    def plant(self, order: Ints) -> tuple[Ints, Ints, Ints]:
        """Parent, kept and new blocks of each row in the new order."""
        columns = np.zeros((3, order.size), dtype=np.int64)
        for place, row in enumerate(order.tolist()):
            total = self._kept[row] + self._new[row]
            parent, kept = self._enter(row, total, place)
            columns[:, place] = parent, kept, total - kept
        return columns[0], columns[1], columns[2]

    def _enter(self, row: int, total: int, place: int) -> tuple[int, int]:
        """The new row that made the deepest known block of a path, and that block's depth."""
        end = total
        while row >= 0 and end > 0:
            start = self._kept[row]
            used = end - start
            if used > 0:
                edge = self._edges.setdefault(row, _Edge())
                there = edge.ends[-1] if edge.ends else 0
                if there < used:
                    edge.ends.append(used)
                    edge.makers.append(place)
                if there > 0:
                    depth = min(there, used)
                    return self._maker(edge, depth), start + depth
            end, row = start, self._parent[row]
        return -1, 0

    @staticmethod
    def _maker(edge: _Edge, depth: int) -> int:
        return edge.makers[bisect_left(edge.ends, depth)]
