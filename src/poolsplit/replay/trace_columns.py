"""A request trace as plain columns: what the replay needs of one, whoever read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
else:
    Ints = Floats = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceColumns:
    """Prompts as ranges of block ids in a prefix tree, one row a request.

    The path of a row is its parent's path up to `kept_blocks`, then `new_blocks` ids from `first_block` on.

    Shapes:
        every array: (requests,)
    """

    block_tokens: int
    """Tokens that one block id stands for."""
    parent: Ints
    kept_blocks: Ints
    new_blocks: Ints
    first_block: Ints
    input_tokens: Ints
    output_tokens: Ints
    after: Ints
    """Row that the client waited for; -1 for none."""
    previous: Ints
    """Row before in the same conversation, whose answer this row may send back; -1 for none."""
    session: Ints
    arrival_s: Floats
    think_s: Floats
    """Seconds of the client after that row had ended."""
