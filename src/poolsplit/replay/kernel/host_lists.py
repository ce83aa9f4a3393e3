"""Two lists through the nodes that the host has a part of (docs/replay.md, 10): lone states, and KV held twice."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import ROOT, World, compiled


@compiled
def keep_host_state(w: World, n: int) -> None:
    """Appends a node whose only state is the host's, if it is not in the list."""
    hosted = w.hosted[n]
    if hosted.lists_state:
        return
    hosted.lists_state = True
    older = w.hosted[ROOT].older_state
    hosted.older_state, hosted.newer_state = older, ROOT
    w.hosted[older].newer_state = n
    w.hosted[ROOT].older_state = n


@compiled
def drop_host_state(w: World, n: int) -> None:
    """Takes a node out of that list, if it is there."""
    hosted = w.hosted[n]
    if not hosted.lists_state:
        return
    hosted.lists_state = False
    w.hosted[hosted.older_state].newer_state = hosted.newer_state
    w.hosted[hosted.newer_state].older_state = hosted.older_state


@compiled
def keep_double(w: World, n: int) -> None:
    """Appends a node with KV on both tiers, if it is not in the list."""
    hosted = w.hosted[n]
    if hosted.lists_double:
        return
    hosted.lists_double = True
    older = w.hosted[ROOT].older_double
    hosted.older_double, hosted.newer_double = older, ROOT
    w.hosted[older].newer_double = n
    w.hosted[ROOT].older_double = n


@compiled
def drop_double(w: World, n: int) -> None:
    """Takes a node out of that list, if it is there."""
    hosted = w.hosted[n]
    if not hosted.lists_double:
        return
    hosted.lists_double = False
    w.hosted[hosted.older_double].newer_double = hosted.newer_double
    w.hosted[hosted.newer_double].older_double = hosted.older_double
