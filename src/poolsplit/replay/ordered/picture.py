"""Hits at every pair of pool sizes from one replay with pools that never fill (docs/surface.md, 2).

Every checkpoint on a request's path has two distances: KV tokens and states used since it was. It is there when both
fit, and the deepest that is there is the hit. What misses would create, and what a lost state takes along, is left
out: the picture is optimistic, and far too optimistic below a cliff.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered import life, tree
from poolsplit.replay.ordered.layout import DONE, GROW, ROOT, World
from poolsplit.replay.ordered.request_tree import align
from poolsplit.replay.ordered.run import SPARE_NODES, build_world, grow, kernel_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.ordered.request_tree import Ints, RequestTree

HANDED_OVER_SLOTS = 2
"""Slots that a request takes for a moment while it starts and while a checkpoint changes hands."""


class Picture(NamedTuple):
    """What the pass counts beside the replay."""

    state_slots: np.ndarray[Any, Any]
    """Rows of the surface, ascending."""
    kv_tokens: np.ndarray[Any, Any]
    """Columns, ascending."""
    steps: np.ndarray[Any, Any]
    """Row differences of the cached tokens: (rows + 1, columns)."""
    staircase: np.ndarray[Any, Any]
    """Lowest row that has a hit already, by column."""
    weights: np.ndarray[Any, Any]
    """Fenwick tree over events: tokens last touched by each."""
    weight: np.ndarray[Any, Any]
    """The same, plain."""
    states: np.ndarray[Any, Any]
    """Fenwick tree over uses of states: 1 at the last use of each."""
    used: np.ndarray[Any, Any]
    """Use at which a node's state stands in the tree of states; 0 is none."""
    running: np.ndarray[Any, Any]
    """Rows that run, with the event that last touched each and the tokens it holds outside the tree: (most, 3)."""
    span: np.ndarray[Any, Any]
    """Nodes of the path at hand, deepest first."""
    counts: np.ndarray[Any, Any]
    """How many run."""


def picture(
    config: ReplayConfig, requests: RequestTree, events: NDArray[np.int64], sizes: tuple[Sequence[int], Sequence[int]]
) -> Ints:
    """Cached tokens at every pair of pool sizes, all from one pass.

    Args:
        config: Options; its pool sizes do not matter.
        requests: Prompts and answers.
        events: Starts and finishes in order.
        sizes: State slots and KV tokens, both ascending.

    Shapes:
        result: (state sizes, KV sizes)

    Source: docs/surface.md section 2. Held by tests/unit/replay/test_picture.py.
    Known error:
        Optimistic: 0.1 to 5 points of hits too many where states bind, tens of points below a cliff.
    """
    from dataclasses import replace

    endless = replace(config, kv_tokens=1 << 60, state_slots=1 << 60)
    w = build_world(endless, align(requests, config.page_tokens), events)
    p = _blank(len(requests), w, sizes)
    kernel = kernel_of("picture", _compile_picture, (sys.modules[__name__],))
    while kernel(w, p) == GROW:
        w = grow(w)
        p = p._replace(
            used=np.concatenate([p.used, np.zeros(w.nodes.size - p.used.size, np.int64)]),
            span=np.zeros(w.nodes.size, np.int64),
        )
    return np.cumsum(p.steps[:-1], axis=0)


def _compile_picture(digest: str) -> Any:
    @numba.njit(cache=True, error_model="numpy", nogil=True)
    def run(w: World, p: Picture) -> int:
        """Named by its digest: a change in any function below makes another entry on disk."""
        _ = digest
        return run_picture(w, p)

    return run


def _blank(rows: int, w: World, sizes: tuple[Sequence[int], Sequence[int]]) -> Picture:
    slots, tokens = (np.asarray(s, dtype=np.int64) for s in sizes)
    chunks = int((w.requests["prompt"] // w.option[0]["chunk_tokens"]).sum()) + 6 * rows
    return Picture(
        state_slots=slots,
        kv_tokens=tokens,
        steps=np.zeros((slots.size + 1, tokens.size), np.int64),
        staircase=np.zeros(tokens.size, np.int64),
        weights=np.zeros(w.events.size + 2, np.int64),
        weight=np.zeros(w.events.size + 2, np.int64),
        states=np.zeros(chunks + 2, np.int64),
        used=np.zeros(w.nodes.size, np.int64),
        running=np.zeros((rows + 1, 3), np.int64),
        span=np.zeros(w.nodes.size, np.int64),
        counts=np.zeros(1, np.int64),
    )


@compiled
def run_picture(w: World, p: Picture) -> int:
    """Replays with endless pools and adds every request's hits to the surface."""
    now, option = w.now[0], w.option[0]
    if now.table_is_stale:
        tree.rebuild_table(w)
    while now.event < w.events.size:
        event = w.events[now.event]
        row = event if event >= 0 else -1 - event
        room = 3 * (w.requests[row].prompt // option.chunk_tokens + 2) + SPARE_NODES
        if now.nodes_used - now.free_listed + room > w.nodes.size:
            return GROW
        before = now.state_ticks
        if event >= 0:
            life.start(w, row)
            _count_hits(w, p, row)
            _touch(w, p, row)
            end = w.requests[row].prompt + w.requests[row].output
            k = p.counts[0]
            p.running[k, 0], p.running[k, 1] = row, now.event + 1
            p.running[k, 2] = end - w.requests[row].protected
            p.counts[0] += 1
        else:
            _drop_running(p, row)
            lock = w.requests[row].lock
            life.finish(w, row)
            _touch_from(w, p, _newest_below(w, lock, before))
        _use_states(w, p, before)
        now.event += 1
    return DONE


@compiled
def _newest_below(w: World, lock: int, before: int) -> int:
    """The node that a finish ended on: the one whose state it made recent, or the one that was locked."""
    newest = w.nodes[ROOT].older_state
    return newest if newest != ROOT and w.nodes[newest].state_tick > before else lock


@compiled
def _drop_running(p: Picture, row: int) -> None:
    last = p.counts[0] - 1
    for i in range(last + 1):
        if p.running[i, 0] == row:
            for j in range(3):
                p.running[i, j] = p.running[last, j]
            break
    p.counts[0] = last


@compiled
def _touch(w: World, p: Picture, row: int) -> None:
    _touch_from(w, p, w.requests[row].lock)


@compiled
def _touch_from(w: World, p: Picture, n: int) -> None:
    """Moves all tokens from the root to a node to this event."""
    event = w.now[0].event + 1
    total, group, toucher = w.nodes[n].end, 0, 0
    while n != ROOT:
        node = w.nodes[n]
        if node.toucher != toucher:
            _add_weight(p, toucher, -group)
            group, toucher = 0, node.toucher
        group += node.end - node.start
        node.toucher = event
        n = node.parent
    _add_weight(p, toucher, -group)
    _add_weight(p, event, total)


@compiled
def _add_weight(p: Picture, event: int, tokens: int) -> None:
    if event == 0 or tokens == 0:
        return
    p.weight[event] += tokens
    at = event
    while at < p.weights.size:
        p.weights[at] += tokens
        at += at & -at


@compiled
def _sum(tree_: np.ndarray[Any, Any], at: int) -> int:
    total = 0
    while at > 0:
        total += tree_[at]
        at -= at & -at
    return total


@compiled
def _use_states(w: World, p: Picture, before: int) -> None:
    """Enters the states that this event created or used."""
    n = w.nodes[ROOT].older_state
    while n != ROOT and w.nodes[n].state_tick > before:
        for sign in (-1, 1):
            at = p.used[n]
            if at > 0:
                while at < p.states.size:
                    p.states[at] += sign
                    at += at & -at
            p.used[n] = w.nodes[n].state_tick
        n = w.nodes[n].older_state


@compiled
def _count_hits(w: World, p: Picture, row: int) -> None:
    """Adds a request's hit at every pair of sizes, from the deepest checkpoint to the shallowest."""
    p.staircase[:] = p.state_slots.size
    held = (w.option[0].tracking_slots + 1) * p.counts[0] + HANDED_OVER_SLOTS
    uses = _sum(p.states, p.states.size - 1) + 1 + held
    touched = _sum(p.weights, p.weights.size - 1)
    for i in range(p.counts[0]):
        touched += p.running[i, 2]
    n = w.requests[row].consumed
    while n != ROOT:
        toucher, top, count = w.nodes[n].toucher, n, 0
        while n != ROOT and w.nodes[n].toucher == toucher:
            if w.nodes[n].has_state and p.used[n] > 0:
                p.span[count] = n
                count += 1
            top = n
            n = w.nodes[n].parent
        if count > 0:
            since = touched - _sum(p.weights, toucher) + _locked_before(p, toucher) - w.nodes[top].start
            for i in range(count):
                _add_steps(w, p, p.span[i], (since, uses))


@compiled
def _locked_before(p: Picture, toucher: int) -> int:
    """Tokens of running requests that are older than an event and still cannot leave."""
    tokens = 0
    for i in range(p.counts[0]):
        if p.running[i, 1] < toucher:
            tokens += p.weight[p.running[i, 1]]
    return tokens


@compiled
def _add_steps(w: World, p: Picture, n: int, distances: tuple[int, int]) -> None:
    """Adds a checkpoint wherever both its distances fit and no deeper one does."""
    depth = w.nodes[n].end
    column = np.searchsorted(p.kv_tokens, distances[0] + depth)
    line = np.searchsorted(p.state_slots, distances[1] - _sum(p.states, p.used[n]))
    while column < p.kv_tokens.size and line < p.staircase[column]:
        p.steps[line, column] += depth
        p.steps[p.staircase[column], column] -= depth
        p.staircase[column] = line
        column += 1
