"""Whether the arrays can take one more iteration; if not, the kernel returns and its caller makes them larger."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import World, compiled

NODES_A_REQUEST = 3
"""Nodes that one request can add in an iteration: a split at a lookup, a split and a leaf at an insert."""
SPARE = 16


@compiled
def has_room(w: World) -> bool:
    """Room for every node, chunk and freed span that one iteration can write."""
    now = w.now[0]
    at_work = now.waiting_tail - now.waiting_head + now.running + now.launched + w.option[0].running_cap
    nodes = now.nodes_used - now.free_listed + NODES_A_REQUEST * at_work + SPARE
    if nodes > w.nodes.size or at_work + SPARE > w.scratch.shape[1]:
        return False
    if now.chunks + at_work + SPARE > w.chunks.size:
        return False
    return not w.option[0].notes_freed or now.freed + 2 * nodes <= w.freed.size


@compiled
def make_queue_room(w: World) -> None:
    """Moves the queue to the front of its array when retracted or new requests could not be appended any more."""
    now = w.now[0]
    if now.waiting_tail + now.running + w.option[0].outstanding_cap <= w.waiting.size:
        return
    count = now.waiting_tail - now.waiting_head
    for i in range(count):
        w.waiting[i] = w.waiting[now.waiting_head + i]
    now.waiting_head, now.waiting_tail = 0, count
