"""Token sequences as runs (docs/replay.md, 1): matching costs runs, not tokens."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import World, compiled


@compiled
def run_at(w: World, run: int, position: int) -> int:
    """The run of a position, found by going on from an earlier run of the same sequence."""
    while w.runs[run].end <= position:
        run += 1
    return run


@compiled
def common_prefix(w: World, left: tuple[int, int], right: tuple[int, int], limit: int) -> int:
    """Tokens that two sequences share from `(run, position)` on, at most `limit`."""
    left_run, left_at = left
    right_run, right_at = right
    shared = 0
    while shared < limit:
        left_run = run_at(w, left_run, left_at + shared)
        right_run = run_at(w, right_run, right_at + shared)
        one, other = w.runs[left_run], w.runs[right_run]
        if one.origin + left_at != other.origin + right_at:
            break
        shared = min(one.end - left_at, other.end - right_at)
    return min(shared, limit)


@compiled
def token_at(w: World, run: int, position: int) -> int:
    """The id at a position."""
    return w.runs[run_at(w, run, position)].origin + position
