"""The journal: what was looked up, inserted and lost, in order. What became of reuse is told from it afterwards."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import World, compiled


@compiled
def write_journal(w: World, what: int, r: int, position: int) -> None:
    """Notes one event of a request's sequence, at a position in it."""
    if not w.option[0].journals:
        return
    note, request = w.journal[w.now[0].notes], w.requests[r]
    note.what, note.request, note.position = what, r, position
    note.matched, note.kv_matched = request.prefix, request.kv_matched
    w.now[0].notes += 1


@compiled
def journal_leaf(w: World, what: int, n: int) -> None:
    """Notes that a leaf left the tree: by the request whose sequence it is a part of, and where it ended."""
    if not w.option[0].journals:
        return
    node = w.nodes[n]
    low, high = 0, w.requests.size - 1
    while low < high:
        middle = (low + high + 1) // 2
        if w.requests[middle].first_run <= node.run:
            low = middle
        else:
            high = middle - 1
    write_journal(w, what, low, node.start + node.length)
    w.journal[w.now[0].notes - 1].matched = node.start
