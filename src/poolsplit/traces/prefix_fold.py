"""Raw block ids of prompts to ranges of a prefix tree: parent, kept blocks and new blocks of each request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.trace import Ints

_FIRST_CAPACITY = 1 << 12
_FIRST_ROWS = 1 << 10


class PrefixFold:
    """The prefix tree of the rows added so far, and each row's place in it.

    Memory: three integers a distinct block while an id space is open, four a row.
    """

    def __init__(self) -> None:
        self._table = _empty_table(_FIRST_CAPACITY)
        self._columns = np.zeros((4, _FIRST_ROWS), dtype=np.int64)
        self._rows = 0
        self._used = 0

    def close_scopes(self) -> None:
        """Forgets the blocks seen so far: later rows share nothing with earlier ones."""
        self._table = _empty_table(_FIRST_CAPACITY)
        self._used = 0

    def add(self, ids: Ints, ends: Ints, scopes: Ints) -> None:
        """Adds rows in time order.

        Shapes:
            ids: (blocks of all rows,), one prompt behind the other
            ends, scopes: (rows,)
        """
        from poolsplit.traces.kernels import fold_rows

        self._reserve(self._rows + ends.size)
        lengths = np.diff(ends, prepend=0)
        path = np.empty(int(lengths.max(initial=0)) + 1, dtype=np.int64)
        path[-1] = self._used
        batch = (ids, ends, scopes)
        done = fold_rows(batch, 0, self._rows, self._table, self._columns, path)
        while done < ends.size:
            self._grow(int(path[-1] + lengths[done]))
            done = fold_rows(batch, done, self._rows, self._table, self._columns, path)
        self._used = int(path[-1])
        self._rows += ends.size

    def result(self) -> tuple[Ints, Ints, Ints]:
        """Parent, kept blocks and new blocks of every row."""
        parent, kept, new = self._columns[1:, : self._rows].copy()
        return parent, kept, new

    def _reserve(self, rows: int) -> None:
        capacity = self._columns.shape[1]
        if rows > capacity:
            wider = np.zeros((4, max(rows, 2 * capacity)), dtype=np.int64)
            wider[:, : self._rows] = self._columns[:, : self._rows]
            self._columns = wider

    def _grow(self, wanted: int) -> None:
        from poolsplit.traces.kernels import grow_table

        larger = _empty_table(1 << (2 * wanted - 1).bit_length())
        grow_table(self._table, larger)
        self._table = larger


def parse_ids(arrays: Sequence[bytes | memoryview]) -> tuple[Ints, Ints] | None:
    """Ids of JSON arrays of whole numbers and where each array ends; None when an id is not a whole number.

    Shapes:
        result: (ids of all arrays,), (arrays,)
    """
    from poolsplit.traces.kernels import parse_id_arrays

    text = np.frombuffer(b"".join(arrays), dtype=np.uint8)
    ids = np.empty(int(np.count_nonzero(text == ord(","))) + len(arrays), dtype=np.int64)
    ends = np.zeros(len(arrays), dtype=np.int64)
    if parse_id_arrays(text, ids, ends) >= 0:
        return None
    return ids[: int(ends[-1])] if len(arrays) else ids, ends


def _empty_table(capacity: int) -> Ints:
    return np.full((3, capacity), -1, dtype=np.int64)
