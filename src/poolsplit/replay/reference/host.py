"""The host's copies of KV and states, and who leaves them when there is no room (docs/replay.md section 10)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.host_pools import HostPools
    from poolsplit.replay.reference.tree import Node, Tree


class Host:
    """Both host pools: what is free, the states whose only copy is here, and KV that both tiers hold."""

    def __init__(
        self, asked: HostPools, config: ReplayConfig, tree: Tree, order: Callable[[Node], tuple[int, int]]
    ) -> None:
        self.asked = asked
        self.kv_free = config.host_kv_capacity_tokens
        self.state_free = asked.state_slots
        self._tree = tree
        self._order = order
        self._states: dict[Node, None] = {}
        """Nodes whose state is on the host alone, least recent first."""
        self.copied_tokens = self.copied_states = self.loaded_tokens = self.loaded_states = 0
        self._doubles: dict[Node, None] = {}
        """Nodes seen with KV on both tiers, first seen first; some may no longer have it."""

    def store(self, node: Node) -> bool:
        """Copies what of a node the host does not have; without room for all of it nothing is copied."""
        tokens = 0 if node.on_host else node.length
        if not self._make_kv_room(tokens):
            return False
        self.kv_free -= tokens
        if node.has_state and not node.host_state:
            if not self.make_state_room():
                self.kv_free += tokens
                return False
            self.state_free -= 1
            self.copied_states += 1
            node.host_state = True
        node.on_host = True
        self.copied_tokens += tokens
        if self.asked.writes_back:
            self.note_double(node)
        return True

    def make_state_room(self) -> bool:
        """Frees one state slot if none is free; tells whether one is."""
        if self.state_free < 1:
            self._free_state()
        return self.state_free > 0

    def add_state(self, node: Node) -> None:
        """A state's device copy is gone: the host's takes its place among those that may leave."""
        if node not in self._states and not node.state_pins:
            self._states[node] = None

    def pin(self, node: Node) -> None:
        """Keeps a node's copies while they are read."""
        node.kv_pins += node.on_host or self.asked.writes_back
        node.state_pins += 1
        self._states.pop(node, None)

    def unpin(self, node: Node, *, segment_start: int) -> None:
        """Lets go of a node's copies, and of the KV of what a split has cut off it since."""
        node.state_pins -= 1
        if node.host_state and not node.has_state:
            self.add_state(node)
        for above in node.to_root():
            if above.kv_pins == 0:
                return
            above.kv_pins -= 1
            if above.depth - above.length == segment_start:
                return

    def taken_back(self, node: Node) -> None:
        """A node's state is on the device again."""
        self._states.pop(node, None)

    def note_double(self, node: Node) -> None:
        """Remembers whether a node has KV on both tiers and no copy under way."""
        if node.on_device and node.on_host and not (node.copying or node.loading):
            self._doubles.setdefault(node, None)
        else:
            self._doubles.pop(node, None)

    def forget(self, node: Node) -> None:
        """Frees both copies of a node that leaves the tree."""
        if node.on_host:
            node.on_host = False
            self.kv_free += node.length
        self._forget_state(node)
        self._doubles.pop(node, None)

    def forget_below(self, node: Node) -> None:
        """Drops everything below a node that cannot be copied; all of it is on the host alone."""
        for child in list(node.children.values()):
            self.forget_below(child)
            self._remove(child)

    def _make_kv_room(self, tokens: int) -> bool:
        needed = tokens - self.kv_free
        if needed <= 0:
            return True
        before = self.kv_free
        if self.asked.writes_back:
            self._free_doubles(before + needed)
        leaves = [(*self._order(node), id(node), node) for node in self._tree.nodes() if node.is_host_leaf]
        heapify(leaves)
        while leaves and self.kv_free < before + needed:
            leaf = heappop(leaves)[-1]
            parent = leaf.parent
            self._remove(leaf)
            if parent is not None and parent.is_host_leaf:
                heappush(leaves, (*self._order(parent), id(parent), parent))
        return self.kv_free >= tokens

    def _free_doubles(self, target: int) -> None:
        """Frees host copies of KV that the device has, too; leaves that the device may soon evict come last."""
        passed: list[Node] = []
        for spares_leaves in (True, False):
            for node in self._doubles:
                if self.kv_free >= target:
                    break
                if not (node.on_device and node.on_host):
                    passed.append(node)
                elif not (node.kv_pins or node.loading or (spares_leaves and node.is_evictable_leaf)):
                    node.on_host = False
                    self.kv_free += node.length
                    passed.append(node)
        for node in passed:
            self._doubles.pop(node, None)

    def _free_state(self) -> None:
        """Frees the least recent state that is on the host alone; a host leaf goes whole."""
        node = next(iter(self._states), None)
        if node is None:
            return
        if node.is_host_leaf:
            self._remove(node)
        else:
            self._forget_state(node)

    def _forget_state(self, node: Node) -> None:
        self._states.pop(node, None)
        if node.host_state:
            node.host_state = False
            self.state_free += 1

    def _remove(self, leaf: Node) -> None:
        self.forget(leaf)
        self._tree.remove_leaf(leaf)
