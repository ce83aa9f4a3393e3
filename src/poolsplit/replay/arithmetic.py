"""The rules that are arithmetic, once: the reference calls these functions and the kernel compiles them.

Positions and counts are ints; `NONE` stands for "no position", because a compiled function has no None.
"""

from __future__ import annotations

NONE = -1


def branching_position(kv_hit: int, matched: int, grid: int) -> int:
    """Where a lookup that matched KV beyond its last state asks for a checkpoint.

    The end of the KV match, cut to the checkpoint grid, if that lies beyond the reusable prefix.

    Source: docs/replay.md section 2. Held by tests/golden/test_replay_golden.py.
    """
    position = kv_hit // grid * grid
    return position if position > matched else NONE


def prefill_snapshot(start: int, end: int, branch: int, grid: int, step: int, kernel_chunk: int) -> int:
    """Position of the one state that a prefill chunk `[start, end)` keeps.

    The last multiple of the grid, counted from the chunk's start, or the branching position instead when it lies
    inside the chunk and a whole number of state steps from its start. A chunk shorter than the grid keeps none.

    Source: docs/replay.md section 3. Held by tests/golden/test_replay_golden.py.
    """
    if end - start < grid:
        return NONE
    position = start + (end - start) // grid * grid
    bound = end if position == start + (end - start) // kernel_chunk * kernel_chunk else position + 1
    if branch != NONE and start < branch < bound and (branch - start) % step == 0:
        return branch
    return position


def kept_snapshot(position: int, branch: int, ends_prompt: bool, sparse: bool) -> int:
    """The snapshot of a prefill chunk that is worth a slot: with sparse checkpoints only a branch or an end.

    Source: docs/replay.md section 3; sparse checkpoints are from documentation.
    """
    return NONE if sparse and position != branch and not ends_prompt else position


def inserted_position(position: int, branch: int, tracks: bool, sparse: bool) -> int:
    """Where a checkpoint of a request that goes on is put into the tree; sparse ones only where prompts diverge.

    Source: docs/replay.md section 3; sparse checkpoints are from documentation.
    """
    return NONE if sparse and not (tracks and position == branch) else position


def donated_position(last: int, previous: int, owned: int, tracking_slots: int) -> int:
    """Position of the snapshot that a finished request gives to the tree.

    The last one, or with two slots the one before it when the last lies beyond what the request owns.

    Source: docs/replay.md section 3. Held by tests/golden/test_replay_golden.py.
    """
    if last == NONE or last <= owned:
        return last
    if tracking_slots == 2 and previous != NONE and previous <= owned:  # noqa: PLR2004 - a pair of slots
        return previous
    return NONE


def new_tokens_asked(asked: int, prompt: int, request_limit: int, capacity: int, page: int) -> int:
    """Length limit of an output after the server clipped it to what the empty pool can hold.

    Source: docs/replay.md section 7. Held by tests/golden/test_replay_golden.py.
    """
    paged_prompt = -(-prompt // page) * page
    return max(0, min(asked, request_limit - prompt - 1, capacity - paged_prompt - page - 1))


def output_to_come(max_new: int, generated: int, clip: int) -> int:
    """Output tokens that admission still counts for a request.

    Source: docs/replay.md section 7.
    """
    return min(max_new - generated, clip)


def first_chunk(prefix: int, uncached: int, budget: int, page: int) -> int:
    """New tokens of a request's first chunk: all that is uncached, or what the budget holds up to a whole page.

    Returns:
        Zero or less when not even one page is left.

    Source: docs/replay.md section 6.
    """
    if -(-uncached // page) * page <= budget:
        return uncached
    return (prefix + budget // page * page) // page * page - prefix


def next_chunk(uncached: int, budget: int, room: float) -> int:
    """New tokens of a later chunk: never refused, never rounded to pages.

    Source: docs/replay.md section 6.
    """
    fits = min(budget, int(room))
    return min(uncached, fits if fits > 0 else budget)


def owned_tokens(committed: int, prompt: int, outputs: int, max_new: int) -> int:
    """Tokens of a finished request whose KV exists and that its client saw.

    Source: docs/replay.md section 6.
    """
    return min(committed, prompt + min(outputs, max_new))


def pages_up(tokens: int, page: int) -> int:
    """Tokens in whole pages, rounded up."""
    return -(-tokens // page) * page
