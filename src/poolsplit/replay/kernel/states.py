"""States of the device in order of use (docs/replay.md, 5)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import ROOT, World, compiled


@compiled
def make_state_recent(w: World, n: int) -> None:
    """Moves a node's state to the recent end."""
    unlink_state(w, n)
    link_state(w, n)


@compiled
def make_path_recent(w: World, n: int) -> None:
    """Moves every state of a path to the recent end, the deepest last."""
    newer = ROOT
    while n != ROOT:
        if w.nodes[n].has_state:
            unlink_state(w, n)
            _link_state_below(w, n, newer)
            newer = n
        n = w.nodes[n].parent


@compiled
def hang_state(w: World, n: int) -> None:
    """Puts a state on a node, at the recent end."""
    node, now = w.nodes[n], w.now[0]
    node.has_state = True
    link_state(w, n)
    if node.state_locks > 0:
        now.state_protected += 1
    else:
        now.state_evictable += 1


@compiled
def link_state(w: World, n: int) -> None:
    """Appends a node to the list."""
    _link_state_below(w, n, ROOT)


@compiled
def unlink_state(w: World, n: int) -> None:
    """Takes a node out of the list."""
    older, newer = w.nodes[n].older_state, w.nodes[n].newer_state
    w.nodes[older].newer_state = newer
    w.nodes[newer].older_state = older


@compiled
def _link_state_below(w: World, n: int, newer: int) -> None:
    """Puts a state just behind a newer one; behind the sentinel it is the newest."""
    older = w.nodes[newer].older_state
    w.nodes[n].older_state, w.nodes[n].newer_state = older, newer
    w.nodes[older].newer_state = n
    w.nodes[newer].older_state = n
