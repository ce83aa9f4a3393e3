"""A prefix that sessions share in reality and that their files do not encode: tools and system prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from poolsplit.traces.trace import Ints, Trace


def share_system_prompts(trace: Trace, system_tokens: Ints) -> Trace:
    """The trace with one id space, in which equally long tool and system prompts are the same prompt.

    Only conversations whose first request starts from nothing are joined; a later request that has lost even its
    system prompt keeps blocks of its own. Whole blocks are shared, as a cache would.

    Shapes:
        system_tokens: (requests,), tools and system prompt of the conversation each request belongs to

    Known error:
        Equal length is taken for equal text. Prompts of different users differ, so this is an upper bound.
    """
    block_tokens = trace.require_blocks("sharing system prompts")
    parent, kept, new = trace.parent.copy(), trace.kept_blocks.copy(), trace.new_blocks.copy()
    maker_of: dict[int, int] = {}
    joined: dict[int, tuple[int, int]] = {}
    for row in np.flatnonzero(_first_of_conversation(trace) | (parent >= 0)).tolist():
        before = int(parent[row])
        if before >= 0:
            maker, shared = joined.get(before, (before, 0))
            if kept[row] <= shared:
                parent[row] = maker
            continue
        shared = int(system_tokens[row]) // block_tokens
        if shared == 0 or new[row] < shared:
            continue
        maker = maker_of.setdefault(int(system_tokens[row]), row)
        if maker != row:
            parent[row], kept[row], new[row] = maker, shared, new[row] - shared
            joined[row] = (maker, shared)
    note = "sessions with equally long tool and system prompts share them: an upper bound, as asked"
    return replace(
        trace,
        origin=replace(trace.origin, notes=(*trace.origin.notes, note)),
        scope=np.zeros_like(trace.scope),
        parent=parent,
        kept_blocks=kept,
        new_blocks=new,
    )


def _first_of_conversation(trace: Trace) -> np.typing.NDArray[np.bool_]:
    first = np.zeros(len(trace), dtype=bool)
    pairs = np.stack([trace.session, trace.agent])
    first[np.unique(pairs, axis=1, return_index=True)[1]] = True
    return first
