"""A trace built from a `TokenTree`: rows beside their paths, in blocks of one token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poolsplit.traces.trace import Origin, Trace

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from poolsplit.traces.token_tree import TokenTree


class TreeTrace:
    """Requests in an order without times, each with its prompt's path in the tree."""

    def __init__(self, tree: TokenTree) -> None:
        self._tree = tree
        self._rows: list[tuple[int, int, int, int, int, int, int]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(
        self, pieces: Iterable[tuple[Hashable, int]], *, behind: int, session: int, after: int, output_tokens: int
    ) -> int:
        """Adds a request whose prompt follows the leaf `behind`, and gives its own leaf."""
        leaf, parent, kept = self._tree.enter(len(self._rows), pieces, behind)
        total = self._tree.depth(leaf)
        self._rows.append((session, after, parent, kept, total - kept, total, output_tokens))
        return leaf

    def trace(self, origin: Origin, session_names: Sequence[str] = ()) -> Trace:
        """All rows in the order they were added."""
        session, after, parent, kept, new, inputs, outputs = np.array(self._rows, dtype=np.int64).T.copy()
        nothing = np.full(len(self._rows), np.nan)
        return Trace(
            origin=origin,
            block_tokens=1,
            session_names=tuple(session_names),
            arrival_s=nothing.copy(),
            session=session,
            scope=np.zeros_like(session),
            agent=np.zeros_like(session),
            parent=parent,
            kept_blocks=kept,
            new_blocks=new,
            after=after,
            input_tokens=inputs,
            output_tokens=outputs,
            think_s=nothing.copy(),
            service_s=nothing.copy(),
        )
