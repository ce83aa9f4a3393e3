"""Prompts spelled out: the block ids of a row, walked from its leaf to the root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolsplit.traces.trace import Ints, Trace


class Paths:
    """Block ids of a trace's prompts, one row at a time."""

    def __init__(self, trace: Trace) -> None:
        self._parent = trace.parent.tolist()
        self._kept = trace.kept_blocks.tolist()
        self._new = trace.new_blocks.tolist()
        self._first = trace.first_block.tolist()

    def ranges(self, row: int) -> list[range]:
        """Ranges of ids from the root to the end of the prompt; none is empty."""
        pieces: list[range] = []
        end = self._kept[row] + self._new[row]
        while row >= 0 and end > 0:
            kept, start = self._kept[row], self._first[row]
            if end > kept:
                pieces.append(range(start, start + end - kept))
            end, row = min(end, kept), self._parent[row]
        return pieces[::-1]

    def ids(self, row: int) -> Ints:
        """Ids of the prompt.

        Shapes:
            result: (blocks of the row,)
        """
        pieces = [np.arange(piece.start, piece.stop) for piece in self.ranges(row)]
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int64)
