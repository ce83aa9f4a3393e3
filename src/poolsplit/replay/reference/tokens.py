"""Sequences of token ids as runs: nothing is ever spelled out."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.replay.workload import Run


class Tokens:
    """One immutable sequence of token ids."""

    __slots__ = ("_ends", "_starts", "length")

    def __init__(self, runs: Iterable[Run]) -> None:
        pieces = tuple(runs)
        self._starts = [start for start, _ in pieces]
        self._ends = list(accumulate(count for _, count in pieces))
        self.length = self._ends[-1]

    def at(self, position: int) -> int:
        """The token id at a position."""
        run = bisect_right(self._ends, position)
        return self._starts[run] + position - self._run_begin(run)

    def window(self, position: int, count: int) -> tuple[int, ...]:
        """The ids of one page."""
        return tuple(self.at(position + i) for i in range(count))

    def same_run(self, position: int) -> int:
        """Tokens from a position to the end of its run."""
        return self._ends[bisect_right(self._ends, position)] - position

    def _run_begin(self, run: int) -> int:
        return self._ends[run - 1] if run else 0


def common_prefix(left: Tokens, left_at: int, right: Tokens, right_at: int, limit: int) -> int:
    """Tokens that two sequences share from the given positions on, at most `limit`."""
    shared = 0
    while shared < limit and left.at(left_at + shared) == right.at(right_at + shared):
        shared += min(left.same_run(left_at + shared), right.same_run(right_at + shared))
    return min(shared, limit)
