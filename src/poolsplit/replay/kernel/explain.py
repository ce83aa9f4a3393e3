"""Where reuse went (docs/replay.md, 9): the journal is read against a tree that never forgets.

That tree holds every span that was ever inserted, marks where a state ever stood, and remembers for which pool a span
last left the real tree.
"""

from __future__ import annotations

from poolsplit.replay.kernel.cache import shared_tokens
from poolsplit.replay.kernel.layout import (
    NOTE_INSERT,
    NOTE_LOOKUP,
    NOTE_STATE_EVICTED,
    ROOT,
    Records,
    World,
    compiled,
)
from poolsplit.replay.kernel.tokens import run_at
from poolsplit.replay.kernel.tree import add_leaf, find_child, rebuild_table, split


@compiled
def explain_losses(w: World, memory: World, losses: Records) -> None:
    """Fills one record of losses a request, from the lookups at their first admissions.

    Args:
        w: A finished replay with its journal.
        memory: An empty world over the same requests, with room for every span.
        losses: One record a request.
    """
    rebuild_table(memory)
    for i in range(w.now[0].notes):
        note = w.journal[i]
        if note.what == NOTE_LOOKUP:
            _explain(memory, note, losses[note.request])
        elif note.what == NOTE_INSERT:
            _remember(memory, note.request, note.position)
        else:
            _mark_lost(memory, note)


@compiled
def _explain(memory: World, note: Records, loss: Records) -> None:
    """Reuse that was possible once: by KV and a state, by KV alone, and by a state at the very end of the prompt."""
    page, filled = memory.option[0].page, note.position
    seen, state = _recall(memory, note.request, (filled - 1) // page * page)
    _, state_at_end = _recall(memory, note.request, filled // page * page)
    loss.seen, loss.kv_matched = seen, note.kv_matched
    resident = max(note.matched, min(state, note.kv_matched))
    gone = max(0, state - resident)
    loss.to_state = resident - note.matched
    if gone > 0 and _left_for(memory, note.request, resident) == NOTE_STATE_EVICTED:
        loss.to_state += gone
    else:
        loss.to_kv = gone
    unreachable = max(0, seen - max(state, note.matched))
    if state_at_end > state:
        loss.to_length = unreachable
    else:
        loss.to_placement = unreachable


@compiled
def _recall(memory: World, r: int, limit: int) -> tuple[int, int]:
    """Tokens of a request that were ever cached, and the deepest place among them where a state ever stood."""
    node, position, state, run = ROOT, 0, 0, memory.requests[r].first_run
    while position < limit:
        run = run_at(memory, run, position)
        child = find_child(memory, node, run, position)
        if child == ROOT:
            break
        shared = shared_tokens(memory, child, run, position, limit)
        position += shared
        if shared < memory.nodes[child].length:
            break
        node = child
        if memory.nodes[node].has_state:
            state = position
    return position, state


@compiled
def _left_for(memory: World, r: int, position: int) -> int:
    """The kind of eviction that the span behind a position last left for."""
    node, at, run = ROOT, 0, memory.requests[r].first_run
    while at <= position:
        run = run_at(memory, run, at)
        node = find_child(memory, node, run, at)
        if node == ROOT:
            return 0
        at += memory.nodes[node].length
    return memory.nodes[node].weight


@compiled
def _remember(memory: World, r: int, end: int) -> None:
    node, position, run = ROOT, 0, memory.requests[r].first_run
    while position < end:
        run = run_at(memory, run, position)
        child = find_child(memory, node, run, position)
        if child == ROOT:
            node = add_leaf(memory, node, run, position, end - position)
            position = end
            break
        shared = shared_tokens(memory, child, run, position, end)
        position += shared
        node = child if shared == memory.nodes[child].length else _split(memory, child, shared)
    if node != ROOT:
        memory.nodes[node].has_state = True


@compiled
def _split(memory: World, n: int, length: int) -> int:
    upper = split(memory, n, length)
    memory.nodes[upper].weight = memory.nodes[n].weight
    return upper


@compiled
def _mark_lost(memory: World, note: Records) -> None:
    """Marks what a leaf held by the eviction that took it."""
    node, position, run = ROOT, 0, memory.requests[note.request].first_run
    while position < note.position:
        run = run_at(memory, run, position)
        node = find_child(memory, node, run, position)
        if node == ROOT:
            return
        position += memory.nodes[node].length
        if position > note.matched:
            memory.nodes[node].weight = note.what
