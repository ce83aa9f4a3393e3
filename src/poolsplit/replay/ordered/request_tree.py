"""Prompts and outputs of all requests as one static tree of token ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints = NDArray[np.int64]


class RequestColumns(Protocol):
    """What is asked of a trace: one row a request, prompts as ranges of blocks behind an earlier row's."""

    @property
    def parent(self) -> Ints:
        """Row whose prompt holds the kept blocks, or -1."""

    @property
    def kept_blocks(self) -> Ints:
        """Blocks taken over from it."""

    @property
    def new_blocks(self) -> Ints:
        """Blocks that no earlier row has had."""

    @property
    def previous(self) -> Ints:
        """Row before in the same conversation, or -1."""

    @property
    def input_tokens(self) -> Ints:
        """Tokens of the whole prompt."""

    @property
    def output_tokens(self) -> Ints:
        """Tokens generated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTree:
    """Every request as a path: the token at depth d lies in the deepest range of the path that begins at or before d.

    Range i < requests holds the new blocks of row i; range requests + i what row i has behind its blocks and shares
    with nobody. The answer of a row is found in the prompt that sends it back, and there it ends.

    Shapes:
        parent, start: (2 * requests,)
        last, prompt, output: (requests,)
    """

    parent: Ints
    """Range above, or -1."""
    start: Ints
    """Depth in tokens at which a range leaves the one above."""
    last: Ints
    """Range that holds a row's last token."""
    prompt: Ints
    """Input tokens."""
    output: Ints
    """Output tokens, at least one."""

    def __len__(self) -> int:
        return int(self.prompt.size)

    def runs(self, row: int) -> Iterator[tuple[int, int, int]]:
        """Ranges of a row's sequence from its end to the root: range, first depth, end depth."""
        end = int(self.prompt[row] + self.output[row])
        at = int(self.last[row])
        while at >= 0:
            begin = int(self.start[at])
            if begin < end:
                yield at, begin, end
                end = begin
            at = int(self.parent[at])


def build_request_tree(columns: RequestColumns, block_tokens: int) -> RequestTree:
    """The tree of a trace, with the answers where `poolsplit replay` has them.

    When the next row of the same conversation begins with a row's whole prompt, its next tokens are that row's answer;
    otherwise an answer is shared with nobody.

    Known error:
        Where a client cuts its own history (thinking left out of the next turn), the tokens behind the cut count as
        the answer's end.
    """
    rows = columns.input_tokens.size
    prompt = np.maximum(columns.input_tokens, 1).astype(np.int64)
    output = np.maximum(columns.output_tokens, 1).astype(np.int64)
    parent = np.full(2 * rows, -1, dtype=np.int64)
    start = np.zeros(2 * rows, dtype=np.int64)
    start[:rows] = columns.kept_blocks * block_tokens
    parent[:rows] = columns.parent
    listed = (columns.kept_blocks + columns.new_blocks) * block_tokens
    answered_by = _answered_by(parent, start, (columns.previous, prompt, listed), block_tokens)
    last = np.full(rows, -1, dtype=np.int64)
    _hang_tails(parent, start, (answered_by, listed, prompt, output), last)
    return RequestTree(parent=parent, start=start, last=last, prompt=prompt, output=output)


@njit(cache=True)
def _answered_by(parent: Ints, start: Ints, rows: tuple[Ints, Ints, Ints], block: int) -> Ints:
    """The next row of each row's conversation, where it sends all its whole blocks and more back; else -1."""
    previous, prompt, listed = rows
    answered_by = np.full(previous.size, -1, dtype=np.int64)
    for row in range(previous.size - 1, -1, -1):
        if previous[row] >= 0:
            answered_by[previous[row]] = row
    for row in range(previous.size):
        one, other = answered_by[row], row
        if one < 0:
            continue
        whole = prompt[row] // block * block
        shared = min(listed[one], listed[row])
        while one != other and shared >= whole:
            if one > other:
                shared = min(shared, start[one])
                one = parent[one]
            else:
                shared = min(shared, start[other])
                other = parent[other]
        if shared < whole or listed[answered_by[row]] < prompt[row]:
            answered_by[row] = -1
    return answered_by


@njit(cache=True)
def _hang_tails(parent: Ints, start: Ints, rows: tuple[Ints, Ints, Ints, Ints], last: Ints) -> None:
    """Ends each sequence: inside the blocks of the row that sends it back, or in a range of its own."""
    answered_by, listed, prompt, output = rows
    count = last.size
    for row in range(count):
        length = prompt[row] + output[row]
        onto = answered_by[row]
        at = row if onto < 0 else onto
        known = min(listed[row], prompt[row]) if onto < 0 else min(listed[onto], length)
        if known == length:
            while start[at] >= length:
                at = parent[at]
            last[row] = at
        else:
            parent[count + row], start[count + row], last[row] = at, known, count + row


def align(tree: RequestTree, page_tokens: int) -> RequestTree:
    """The same tree in whole pages: prompts that part inside a page part at its start."""
    if page_tokens == 1:
        return tree
    return RequestTree(
        parent=tree.parent,
        start=tree.start // page_tokens * page_tokens,
        last=tree.last,
        prompt=tree.prompt,
        output=tree.output,
    )
