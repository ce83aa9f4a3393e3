"""A prefix tree of pieces of any length in tokens, for formats whose prompts are not cut into equal blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

ROOT = -1


class TokenTree:
    """Prompts as paths of pieces; a piece is a key and its tokens, behind everything before it.

    The trace that it makes has blocks of one token, so pieces need not line up.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, Hashable, int], int] = {}
        self._maker: list[int] = []
        self._depth: list[int] = []

    def enter(self, row: int, pieces: Iterable[tuple[Hashable, int]], behind: int = ROOT) -> tuple[int, int, int]:
        """Enters a prompt and gives its leaf, its parent row and the tokens it keeps.

        Args:
            row: The request.
            pieces: Key and tokens of each piece; a piece without tokens is passed over.
            behind: Leaf that the pieces follow; everything up to it is kept.
        """
        node, kept_at, new = behind, behind, False
        for key, tokens in pieces:
            if tokens <= 0:
                continue
            found = None if new else self._nodes.get((node, key, tokens))
            if found is None:
                new = True
                found = len(self._maker)
                self._nodes[node, key, tokens] = found
                self._maker.append(row)
                self._depth.append(self.depth(node) + tokens)
            else:
                kept_at = found
            node = found
        return node, self._maker[kept_at] if kept_at >= 0 else -1, self.depth(kept_at)

    def depth(self, node: int) -> int:
        """Tokens from the root to the end of a node."""
        return self._depth[node] if node >= 0 else 0
