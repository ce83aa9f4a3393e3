"""Nodes, children, splits and paths (docs/replay.md, 1)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import compiled
from poolsplit.replay.ordered.layout import ROOT, World

_MIX_PARENT = 0x9E3779B97F4A7C1
_MIX_SEGMENT = 0x2545F4914F6CDD1
_FOLD_BITS = 29


@compiled
def tick(w: World) -> int:
    """The next access time."""
    now = w.now[0]
    now.ticks += 1
    return now.ticks  # type: ignore[no-any-return]


@compiled
def is_evictable_leaf(w: World, n: int) -> bool:
    """A node without children and without any lock; a lock is kept on the node it ends on alone.

    NOTE: nodes above a lock have children, so they are no leaves whatever their lock count.
    """
    node = w.nodes[n]
    return n != ROOT and node.children == 0 and node.kv_locks == 0 and node.state_locks == 0


@compiled
def time_of(w: World, n: int) -> int:
    """Last access of a node that is a leaf."""
    node = w.nodes[n]
    return max(node.own_time, node.path_time)  # type: ignore[no-any-return]


@compiled
def read_path(w: World, r: int, limit: int) -> int:
    """Writes the ranges of a request's path down, deepest first, up to the deepest cached node that is easily found.

    Returns:
        That node: it ends at `limit` or before, and the path matches it whole; or the root.
    """
    segments, path = w.segments, w.path
    at, end, count = w.requests[r].last_segment, w.requests[r].prompt + w.requests[r].output, 0
    while at >= 0:
        segment = segments[at]
        if segment.start < end:
            path[count] = at
            segment.place = count
            count += 1
            n = segment.node
            if n != ROOT and w.nodes[n].birth == segment.birth:
                deepest = min(end, limit)
                while w.nodes[n].end > deepest:
                    n = w.nodes[n].parent
                w.now[0].path = count
                extend_path(w, w.nodes[n].end)
                return n  # type: ignore[no-any-return]
            end = segment.start
        at = segment.parent
    w.now[0].path = count
    return ROOT


@compiled
def extend_path(w: World, depth: int) -> None:
    """Adds ranges to the path at hand until it holds the token at a depth."""
    segments, count = w.segments, w.now[0].path
    at = w.path[count - 1]
    end = segments[at].start
    while end > depth:
        at = segments[at].parent
        if segments[at].start < end:
            w.path[count] = at
            segments[at].place = count
            count += 1
            end = segments[at].start
    w.now[0].path = count


@compiled
def reread_path(w: World, r: int, depth: int) -> None:
    """Writes the ranges of a request's path down that lie below a depth."""
    at = w.requests[r].last_segment
    w.path[0] = at
    w.segments[at].place = 0
    w.now[0].path = 1
    extend_path(w, depth)


@compiled
def segment_at(w: World, place: int, depth: int) -> int:
    """Place in the path of the range that holds the token at a depth, from a place above or at it."""
    while place > 0 and w.segments[w.path[place - 1]].start <= depth:
        place -= 1
    return place


@compiled
def shared_end(w: World, n: int, limit: int) -> int:
    """Depth at which the path leaves a node whose first token it has, at most `limit`."""
    end = min(w.nodes[n].end, limit)
    at = w.nodes[n].last_segment
    while True:
        place = w.segments[at].place
        if place < w.now[0].path and w.path[place] == at:
            break
        end = min(end, w.segments[at].start)
        at = w.segments[at].parent
    if place > 0:
        end = min(end, w.segments[w.path[place - 1]].start)
    return end  # type: ignore[no-any-return]


@compiled
def find_child(w: World, parent: int, segment: int) -> int:
    """The child that begins with a token of a range, or the root when there is none."""
    mask = w.table.size - 1
    slot = _home(parent, segment) & mask
    while w.table[slot] != ROOT:
        node = w.nodes[w.table[slot]]
        if node.parent == parent and node.first_segment == segment:
            return w.table[slot]  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    return ROOT


@compiled
def add_leaf(w: World, parent: int, first: int, last: int, end: int) -> int:
    """Hangs a new leaf under a node."""
    leaf = _new_node(w)
    node = w.nodes[leaf]
    node.parent, node.first_segment, node.last_segment = parent, first, last
    node.start, node.end = w.nodes[parent].end, end
    _put(w, leaf)
    w.nodes[parent].children += 1
    note_node(w, leaf)
    return leaf


@compiled
def split(w: World, n: int, depth: int) -> int:
    """Cuts a node at a depth and gives the upper half; state, locks and id stay below, both halves become recent."""
    lower = w.nodes[n]
    upper_id = _new_node(w)
    upper = w.nodes[upper_id]
    at = lower.last_segment
    while w.segments[at].start >= depth:
        at = w.segments[at].parent
    upper.parent, upper.start, upper.end = lower.parent, lower.start, depth
    upper.first_segment, upper.last_segment = lower.first_segment, at
    w.table[_slot_of(w, n)] = upper_id
    lower.parent, lower.start = upper_id, depth
    lower.first_segment = _first_behind(w, lower.last_segment, depth)
    upper.children = 1
    upper.toucher = lower.toucher
    _put(w, n)
    upper.own_time = upper.path_time
    upper.path_time = 0
    lower.own_time = tick(w)
    note_if_lost(w, upper_id)
    return upper_id


@compiled
def _first_behind(w: World, at: int, depth: int) -> int:
    """The range of the token at a depth, from a range below it."""
    while w.segments[at].start > depth:
        at = w.segments[at].parent
    return at


@compiled
def remove_leaf(w: World, leaf: int) -> None:
    """Takes a leaf out of the tree and puts its record on the free list; what touched it has touched its parent."""
    node, now = w.nodes[leaf], w.now[0]
    _take_out(w, leaf)
    parent = node.parent
    above = w.nodes[parent]
    above.children -= 1
    above.path_time = max(above.path_time, node.path_time)
    node.parent = now.free_list
    node.birth = node.queued = 0
    now.free_list = leaf
    now.free_listed += 1
    note_if_lost(w, parent)


@compiled
def note_node(w: World, n: int) -> None:
    """Remembers a node as the way into its last range."""
    segment = w.segments[w.nodes[n].last_segment]
    segment.node, segment.birth = n, w.nodes[n].birth


@compiled
def note_if_lost(w: World, n: int) -> None:
    """Remembers a node as the way into its last range if the one remembered is gone."""
    if n == ROOT:
        return
    segment = w.segments[w.nodes[n].last_segment]
    if segment.node == ROOT or w.nodes[segment.node].birth != segment.birth:
        note_node(w, n)


@compiled
def rebuild_table(w: World) -> None:
    """Fills an empty table anew after the arrays have grown."""
    w.now[0].table_is_stale = False
    w.table[:] = ROOT
    for n in range(1, w.now[0].nodes_used):
        if w.nodes[n].birth != 0:
            _put(w, n)


@compiled
def _new_node(w: World) -> int:
    now = w.now[0]
    n = now.free_list
    if n != ROOT:
        now.free_list = w.nodes[n].parent
        now.free_listed -= 1
    else:
        n = now.nodes_used
        now.nodes_used += 1
    now.births += 1
    node = w.nodes[n]
    node.birth, node.own_time, node.path_time = now.births, 0, tick(w)
    node.children = node.kv_locks = node.state_locks = node.queued = node.toucher = 0
    node.has_state = False
    return n  # type: ignore[no-any-return]


@compiled
def _home(parent: int, segment: int) -> int:
    mixed = parent * _MIX_PARENT + segment * _MIX_SEGMENT
    return mixed ^ (mixed >> _FOLD_BITS)


@compiled
def _slot_of(w: World, n: int) -> int:
    mask = w.table.size - 1
    slot = _home(w.nodes[n].parent, w.nodes[n].first_segment) & mask
    while w.table[slot] != n:
        slot = (slot + 1) & mask
    return slot


@compiled
def _put(w: World, n: int) -> None:
    mask = w.table.size - 1
    slot = _home(w.nodes[n].parent, w.nodes[n].first_segment) & mask
    while w.table[slot] != ROOT:
        slot = (slot + 1) & mask
    w.table[slot] = n


@compiled
def _take_out(w: World, n: int) -> None:
    """Deletes by shifting back what was displaced by the deleted entry."""
    mask = w.table.size - 1
    hole = _slot_of(w, n)
    slot = (hole + 1) & mask
    while w.table[slot] != ROOT:
        moved = w.nodes[w.table[slot]]
        home = _home(moved.parent, moved.first_segment) & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            w.table[hole] = w.table[slot]
            hole = slot
        slot = (slot + 1) & mask
    w.table[hole] = ROOT
