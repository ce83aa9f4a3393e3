"""Traces whose sharing is told by lengths: each prompt keeps a length of an earlier one, and the rest is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolsplit.traces.trace import Ints


class VirtualPrompts:
    """Prompts without content: new blocks are shared with nobody but later rows that keep them."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self._kept: list[int] = []
        self._new: list[int] = []

    def __len__(self) -> int:
        return len(self._parent)

    def add(self, *, blocks: int, kept_blocks: int = 0, of: int = -1) -> int:
        """Adds a prompt that begins with blocks of row `of`, as many as both have, and gives its row."""
        kept = 0 if of < 0 else min(kept_blocks, blocks, self._kept[of] + self._new[of])
        parent = of
        while kept > 0 and kept <= self._kept[parent]:
            parent = self._parent[parent]
        self._parent.append(parent if kept > 0 else -1)
        self._kept.append(kept)
        self._new.append(blocks - kept)
        return len(self._parent) - 1

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Parent, kept and new blocks of all rows."""
        return (
            np.array(self._parent, dtype=np.int64),
            np.array(self._kept, dtype=np.int64),
            np.array(self._new, dtype=np.int64),
        )
