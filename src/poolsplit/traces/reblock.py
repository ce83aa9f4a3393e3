"""A trace in blocks of another size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


def reblock(trace: Trace, block_tokens: int) -> Trace:
    """The same prompts in blocks of `block_tokens`, whole ones only when they grow.

    Smaller blocks lose nothing. Larger ones share a block only when all of it is shared, so reuse can fall, by less
    than one block a request.

    Raises:
        InputError: One size is not a multiple of the other, or the trace has lengths only.
    """
    old = trace.require_blocks("another block size")
    if old == block_tokens:
        return trace
    if old % block_tokens and block_tokens % old:
        raise InputError(
            f"blocks of {old} tokens cannot become blocks of {block_tokens}",
            hint=f"take a multiple or a divisor of {old}",
        )
    covered = np.minimum(trace.blocks * old, trace.input_tokens)
    kept = _shared_blocks(trace, old, block_tokens)
    total = np.maximum(-(-covered // block_tokens) if block_tokens < old else covered // block_tokens, kept)
    parent = _tight(trace.parent.tolist(), kept.tolist())
    return replace(
        trace,
        block_tokens=block_tokens,
        parent=np.array(parent, dtype=np.int64),
        kept_blocks=kept,
        new_blocks=total - kept,
    )


def _shared_blocks(trace: Trace, old: int, new: int) -> np.typing.NDArray[np.int64]:
    """Kept blocks in the new size; a whole kept prompt keeps its partial last block too."""
    kept_tokens = np.minimum(trace.kept_blocks * old, trace.input_tokens)
    if new > old:
        return kept_tokens // new
    before = np.maximum(trace.parent, 0)
    # NOTE: the last kept block may be the parent's partial last one: it has as many tokens as both prompts have of it.
    kept_tokens = np.minimum(kept_tokens, np.where(trace.parent >= 0, trace.input_tokens[before], 0))
    return np.where(kept_tokens == trace.input_tokens, -(-kept_tokens // new), kept_tokens // new)


def _tight(parent: list[int], kept: list[int]) -> list[int]:
    """Parents moved up to the row that made the last kept block."""
    result = list(parent)
    for row in range(len(parent)):
        before = parent[row] if kept[row] > 0 else -1
        while before >= 0 and kept[row] <= kept[before]:
            before = result[before]
        result[row] = before
    return result
