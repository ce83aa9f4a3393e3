"""What a request or a copy holds of a path (docs/replay.md, 4 and 10)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import ROOT, World, compiled
from poolsplit.replay.kernel.leaves import offer_leaves_up


@compiled
def lock(w: World, n: int, with_state: bool) -> bool:
    """Locks the KV of a node and its ancestors, and the state of that node alone; tells whether the state is held."""
    now, host = w.now[0], w.option[0].host
    above = n
    while above != ROOT:
        held = w.nodes[above]
        if held.kv_locks == 0 and not (host and w.hosted[above].off_device):
            now.kv_evictable -= held.length
            now.kv_protected += held.length
        held.kv_locks += 1
        above = held.parent
    node = w.nodes[n]
    if not with_state or n == ROOT or not (node.has_state or w.option[0].bare_node_locks):
        return False
    if node.state_locks == 0 and node.has_state:
        now.state_evictable -= 1
        now.state_protected += 1
    node.state_locks += 1
    return True


@compiled
def unlock(w: World, n: int, holds_state: bool) -> None:
    """Undoes a lock."""
    now, host = w.now[0], w.option[0].host
    above = n
    while above != ROOT:
        held = w.nodes[above]
        held.kv_locks -= 1
        if held.kv_locks == 0 and not (host and w.hosted[above].off_device):
            now.kv_evictable += held.length
            now.kv_protected -= held.length
        above = held.parent
    if holds_state:
        unlock_state(w, n)
    offer_leaves_up(w, n)


@compiled
def unlock_state(w: World, n: int) -> None:
    """Lets go of the state of a locked node and keeps its KV locked."""
    node, now = w.nodes[n], w.now[0]
    node.state_locks -= 1
    if node.state_locks == 0 and node.has_state:
        now.state_evictable += 1
        now.state_protected -= 1
