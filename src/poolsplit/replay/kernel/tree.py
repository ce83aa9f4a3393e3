"""Nodes, children and splits (docs/replay.md, 1)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import ROOT, World, compiled
from poolsplit.replay.kernel.tokens import common_prefix, run_at, token_at

LEVEL_BITS = 20
_MIX_PARENT = 0x9E3779B97F4A7C1
_MIX_TOKEN = 0x2545F4914F6CDD1
_FOLD_BITS = 29


@compiled
def tick(w: World) -> int:
    """The next access time."""
    now = w.now[0]
    now.ticks += 1
    return now.ticks << LEVEL_BITS


@compiled
def is_evictable_leaf(w: World, n: int) -> bool:
    """A node without children on the device and without any lock; its state does not matter."""
    node = w.nodes[n]
    if n == ROOT or node.kv_locks != 0 or node.state_locks != 0:
        return False
    if w.option[0].host:
        return w.hosted[n].device_children == 0 and not w.hosted[n].off_device
    return node.children == 0


@compiled
def is_host_leaf(w: World, n: int) -> bool:
    """A node on the host alone, without children, locks and pins."""
    node, hosted = w.nodes[n], w.hosted[n]
    held = node.kv_locks + node.state_locks + hosted.kv_pins + hosted.state_pins
    return hosted.off_device and hosted.on_host and node.children == 0 and held == 0


@compiled
def depth(w: World, n: int) -> int:
    """Tokens from the root to the end of a node."""
    tokens = 0
    while n != ROOT:
        tokens += w.nodes[n].length
        n = w.nodes[n].parent
    return tokens


@compiled
def find_child(w: World, parent: int, run: int, position: int) -> int:
    """The child that begins with the page at a position, or the root when there is none."""
    page = w.option[0].page
    token = w.runs[run].origin + position
    mask = w.table.size - 1
    slot = _home(parent, token) & mask
    while w.table[slot] != ROOT:
        child = w.table[slot]
        node = w.nodes[child]
        if node.parent == parent and node.first_token == token:
            here = (run, position)
            if page == 1 or common_prefix(w, here, (node.run, node.start), page) == page:
                return child
        slot = (slot + 1) & mask
    return ROOT


@compiled
def add_leaf(w: World, parent: int, run: int, start: int, length: int) -> int:
    """Hangs a new leaf under a node, as its newest child."""
    leaf = _new_node(w, run, start, length)
    node = w.nodes[leaf]
    node.parent = parent
    _put(w, leaf)
    above = w.nodes[parent]
    node.older_sibling = above.last_child
    if above.children == 0:
        above.first_child = leaf
    else:
        w.nodes[above.last_child].newer_sibling = leaf
    above.last_child = leaf
    above.children += 1
    if w.option[0].host:
        w.hosted[parent].device_children += 1
    return leaf


@compiled
def split(w: World, n: int, length: int) -> int:
    """Cuts a node in two and gives the upper half, which takes its place among its siblings.

    The upper half takes KV locks, hits and creation time; state and state lock stay below. Both halves become recent,
    the lower one more so.
    """
    lower = w.nodes[n]
    upper_id = _new_node(w, lower.run, lower.start, length)
    upper = w.nodes[upper_id]
    upper.kv_locks, upper.hits, upper.created = lower.kv_locks, lower.hits, lower.created
    upper.parent = lower.parent
    _replace(w, n, upper_id)
    _take_place(w, n, upper_id)
    lower.parent = upper_id
    lower.start += length
    lower.length -= length
    lower.run = run_at(w, lower.run, lower.start)
    lower.first_token = w.runs[lower.run].origin + lower.start
    upper.first_child = upper.last_child = n
    upper.children = 1
    _put(w, n)
    lower.touched = tick(w)
    return upper_id


@compiled
def remove_leaf(w: World, leaf: int) -> None:
    """Takes a leaf out of the tree and puts its record on the free list."""
    node = w.nodes[leaf]
    _take_out(w, leaf)
    above = w.nodes[node.parent]
    above.children -= 1
    if w.option[0].host and not w.hosted[leaf].off_device:
        w.hosted[node.parent].device_children -= 1
    if above.first_child == leaf:
        above.first_child = node.newer_sibling
    else:
        w.nodes[node.older_sibling].newer_sibling = node.newer_sibling
    if above.last_child == leaf:
        above.last_child = node.older_sibling
    else:
        w.nodes[node.newer_sibling].older_sibling = node.older_sibling
    now = w.now[0]
    node.parent = now.node_free_list
    node.touched = 0
    now.node_free_list = leaf
    now.free_listed += 1


@compiled
def rebuild_table(w: World) -> None:
    """Fills an empty table anew after the arrays have grown."""
    w.now[0].table_is_stale = False
    w.table[:] = ROOT
    for n in range(1, w.now[0].nodes_used):
        if w.nodes[n].touched != 0:
            _put(w, n)


@compiled
def last_token(w: World, n: int) -> int:
    """Id of the last token of a node."""
    node = w.nodes[n]
    return token_at(w, node.run, node.start + node.length - 1)


@compiled
def _new_node(w: World, run: int, start: int, length: int) -> int:
    now = w.now[0]
    n = now.node_free_list
    if n != ROOT:
        now.node_free_list = w.nodes[n].parent
        now.free_listed -= 1
    else:
        n = now.nodes_used
        now.nodes_used += 1
    node = w.nodes[n]
    node.run, node.start, node.length = run_at(w, run, start), start, length
    node.first_token = w.runs[node.run].origin + start
    node.touched, node.created = tick(w), tick(w)
    node.hits = node.kv_locks = node.state_locks = node.children = node.weight = 0
    node.first_child = node.last_child = node.older_sibling = node.newer_sibling = ROOT
    node.queued_touched = 0
    node.has_state = False
    if w.option[0].host:
        _clear_hosted(w, n)
    return n


@compiled
def _clear_hosted(w: World, n: int) -> None:
    hosted = w.hosted[n]
    hosted.device_children = hosted.kv_pins = hosted.state_pins = hosted.copied_in = hosted.queued_touched = 0
    hosted.loading = ROOT
    hosted.off_device = hosted.on_host = hosted.has_state = hosted.lists_state = hosted.lists_double = False


@compiled
def _home(parent: int, token: int) -> int:
    mixed = parent * _MIX_PARENT + token * _MIX_TOKEN
    return mixed ^ (mixed >> _FOLD_BITS)


@compiled
def _slot_of(w: World, n: int) -> int:
    mask = w.table.size - 1
    slot = _home(w.nodes[n].parent, w.nodes[n].first_token) & mask
    while w.table[slot] != n:
        slot = (slot + 1) & mask
    return slot


@compiled
def _put(w: World, n: int) -> None:
    mask = w.table.size - 1
    slot = _home(w.nodes[n].parent, w.nodes[n].first_token) & mask
    while w.table[slot] != ROOT:
        slot = (slot + 1) & mask
    w.table[slot] = n


@compiled
def _replace(w: World, old: int, new: int) -> None:
    w.table[_slot_of(w, old)] = new


@compiled
def _take_out(w: World, n: int) -> None:
    """Deletes by shifting back what was displaced by the deleted entry."""
    mask = w.table.size - 1
    hole = _slot_of(w, n)
    slot = (hole + 1) & mask
    while w.table[slot] != ROOT:
        moved = w.table[slot]
        home = _home(w.nodes[moved].parent, w.nodes[moved].first_token) & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            w.table[hole] = moved
            hole = slot
        slot = (slot + 1) & mask
    w.table[hole] = ROOT


@compiled
def _take_place(w: World, old: int, new: int) -> None:
    before, after = w.nodes[old].older_sibling, w.nodes[old].newer_sibling
    above = w.nodes[w.nodes[new].parent]
    w.nodes[new].older_sibling, w.nodes[new].newer_sibling = before, after
    if above.first_child == old:
        above.first_child = new
    else:
        w.nodes[before].newer_sibling = new
    if above.last_child == old:
        above.last_child = new
    else:
        w.nodes[after].older_sibling = new
    w.nodes[old].older_sibling = w.nodes[old].newer_sibling = ROOT
