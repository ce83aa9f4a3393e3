"""Who leaves the pools, and in which order (docs/replay.md sections 4 and 5)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from poolsplit.replay.reference.host import Host
from poolsplit.replay.workload import Freed

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.pools import Pools
    from poolsplit.replay.reference.tree import Node, Tree

PROTECTED_HITS = 2
"""Hits from which the segmented policy spares a leaf."""

KV_ORDER: dict[str, Callable[[Node], tuple[int, int]]] = {
    "lru": lambda node: (0, node.touched),
    "lfu": lambda node: (node.hits, node.touched),
    "slru": lambda node: (int(node.hits >= PROTECTED_HITS), node.touched),
    "fifo": lambda node: (node.created, node.touched),
    "mru": lambda node: (-node.touched, 0),
    "filo": lambda node: (-node.created, node.touched),
    "priority": lambda node: (0, node.touched),
}
"""What makes a KV leaf go before another, by eviction policy. Requests carry no priority here, so theirs are equal."""


class Evictor:
    """The order of states, the counters of what left, and every way to leave."""

    def __init__(self, tree: Tree, pools: Pools, config: ReplayConfig) -> None:
        self._tree = tree
        self._pools = pools
        self._order = KV_ORDER[config.eviction]
        self._path_cap = config.path_cap
        self.host = None if config.host is None else Host(config.host, config, tree, self._order)
        self._states: dict[Node, None] = {}
        """Nodes with a state, least recent first."""
        self.kv_evicted = 0
        self.states_evicted = 0
        self.cap_states_evicted = 0
        self.freed: list[Freed] = []

    def make_state_recent(self, node: Node) -> None:
        """Moves a node's state to the recent end."""
        del self._states[node]
        self._states[node] = None

    def make_path_recent(self, node: Node) -> None:
        """Moves every state of a path to the recent end, the deepest last."""
        for holder in reversed([above for above in node.to_root() if above.has_state]):
            self.make_state_recent(holder)

    def add_state(self, node: Node, *, touching: bool = False) -> None:
        """Hangs a state on a node, at the recent end, then holds the path to its cap."""
        self.hang_state(node)
        if self.host is not None:
            self.host.taken_back(node)
        if touching:
            node.touched = self._tree.tick()
        if self._path_cap is not None:
            self._hold_path_to(self._path_cap, node)

    def hang_state(self, node: Node) -> None:
        """Puts a state into the list, at the recent end."""
        node.has_state = True
        self._states[node] = None
        if node.state_locks:
            self._pools.state_protected += 1
        else:
            self._pools.state_evictable += 1

    def free_kv_to(self, target: int) -> None:
        """Deletes evictable leaves, oldest first and whole, until `target` KV tokens are free."""
        self._evict_leaves_until(lambda: self._pools.kv_available >= target)

    def _evict_leaves_until(self, done: Callable[[], bool]) -> None:
        if done():
            return
        leaves = [(*self._order(node), id(node), node) for node in self._tree.nodes() if node.is_evictable_leaf]
        heapify(leaves)
        while leaves and not done():
            leaf = heappop(leaves)[-1]
            parent = leaf.parent
            self._evict_leaf(leaf)
            if parent is not None and parent.is_evictable_leaf:
                heappush(leaves, (*self._order(parent), id(parent), parent))

    def free_states_to(self, target: int) -> None:
        """Frees states until `target` slots are free; under unified memory cached KV gives its bytes for them first."""

        def done() -> bool:
            return self._pools.states_available >= target

        if self._pools.buffer is None:
            self._evict_states_until(done)
            return
        unnamed, before = target - self._pools.state_free, self.states_evicted
        self._evict_states_until(lambda: done() or self.states_evicted - before >= unnamed)
        if self._pools.state_free >= target:
            self._evict_leaves_until(done)
            self._evict_states_until(done)

    def _evict_states_until(self, done: Callable[[], bool]) -> None:
        """Frees unlocked states, oldest first; an evictable leaf goes whole."""
        while not done():
            oldest = next((node for node in self._states if node.state_locks == 0), None)
            if oldest is None:
                return
            if oldest.is_evictable_leaf:
                self._evict_leaf(oldest)
            else:
                self._save_state(oldest)
                self._drop_state(oldest)
                self.states_evicted += 1

    def _evict_leaf(self, leaf: Node) -> None:
        """A leaf leaves the device; it stays in the tree if the host has, or gets, a copy of its KV."""
        host = self.host
        if host is not None and (leaf.on_host or (host.asked.writes_back and host.store(leaf))):
            self._take_off_device(leaf)
            leaf.on_device = False
            return
        if host is not None:
            host.forget_below(leaf)
        self._take_off_device(leaf)
        if host is not None:
            host.forget(leaf)
        self._tree.remove_leaf(leaf)

    def _save_state(self, node: Node) -> None:
        """With write-back, a state inside the tree takes its node's KV along to the host before it is dropped."""
        if self.host is not None and self.host.asked.writes_back and not (node.host_state or node.on_host):
            self.host.make_state_room()
            self.host.store(node)

    def _take_off_device(self, leaf: Node) -> None:
        self._note("kv", leaf)
        self._pools.kv_free += leaf.length
        self._pools.kv_evictable -= leaf.length
        self.kv_evicted += leaf.length
        if leaf.has_state:
            self._drop_state(leaf)
            self.states_evicted += 1

    def _drop_state(self, node: Node) -> None:
        self._note("state", node)
        del self._states[node]
        node.has_state = False
        self._pools.state_evictable -= 1
        self._pools.state_free += 1
        if node.host_state and self.host is not None:
            self.host.add_state(node)

    def _hold_path_to(self, cap: int, tail: Node) -> None:
        """Drops states from the shallowest down; tails, forks, locked nodes and leaves are spared."""
        holders = [node for node in tail.to_root() if node.has_state]
        excess = len(holders) - cap
        for node in reversed(holders):
            if excess <= 0 or node is tail:
                return
            if node.state_locks or len(node.children) != 1 or node.is_evictable_leaf:
                continue
            self._drop_state(node)
            self.cap_states_evicted += 1
            excess -= 1

    def _note(self, kind: str, node: Node) -> None:
        entry = Freed(
            kind="kv" if kind == "kv" else "state", depth=node.depth, length=node.length, last_token=node.last_token
        )
        self.freed.append(entry)
