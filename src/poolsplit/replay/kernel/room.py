"""Whether the arrays can take one more iteration; if not, the kernel returns and its caller makes them larger."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import World, compiled

NODES_A_REQUEST = 3
"""Nodes that one request can add in an iteration: a split at a lookup, a split and a leaf at an insert."""
SPARE = 16


@compiled
def has_room(w: World) -> bool:
    """Room for every node and log entry that one iteration can write; what is needed is written down for the caller."""
    now, option = w.now[0], w.option[0]
    lookups = now.waiting_tail - now.waiting_head + now.running + now.launched + option.running_cap
    now.need_nodes = now.nodes_used - now.free_listed + NODES_A_REQUEST * lookups + SPARE
    now.need_scratch = max(now.need_nodes, lookups + SPARE)
    now.need_chunks = now.chunks + w.rows.shape[1] + SPARE
    now.need_freed = now.freed + 2 * now.need_nodes if option.notes_freed else 0
    now.need_notes = now.notes + now.need_nodes + w.rows.shape[1] if option.journals else 0
    return (
        now.need_nodes <= w.nodes.size
        and now.need_scratch <= w.scratch.shape[1]
        and now.need_chunks <= w.chunks.size
        and now.need_freed <= w.freed.size
        and now.need_notes <= w.journal.size
    )


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
