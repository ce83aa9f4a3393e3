"""The dual-pool prefix cache: lookups, inserts and locks over one tree and two pools (docs/replay.md, 2 and 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from poolsplit.replay.arithmetic import NONE, branching_position
from poolsplit.replay.reference.eviction import Evictor
from poolsplit.replay.reference.pools import Pools
from poolsplit.replay.reference.tiers import Tiers
from poolsplit.replay.reference.tree import Node, Tree
from poolsplit.units import align_down

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.tokens import Tokens
    from poolsplit.replay.workload import Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """What a lookup found."""

    node: Node
    """Deepest node with KV and a state on the device."""
    matched: int
    """Tokens up to it."""
    found: Node
    """The same on either tier."""
    host_hit: int
    """Tokens beyond `matched` that the host holds."""
    branch: int
    """Position where a new checkpoint would serve the next request of this branch, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inserted:
    """What an insert did."""

    node: Node
    """Node that it ended on."""
    length: int
    """Tokens up to it."""
    state_kept: bool
    """False when the node had a state already, so the offered one is surplus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A request's hold on a node: its KV up to the root, and usually its state."""

    node: Node
    holds_state: bool


class Cache:
    """The tree and both pools with their order of eviction."""

    def __init__(self, config: ReplayConfig) -> None:
        self.config = config
        self.tree = Tree(config.page_tokens)
        self.pools = Pools(
            kv_free=config.kv_capacity_tokens, state_free=config.state_capacity_slots, buffer=config.buffer
        )
        self.evictor = Evictor(self.tree, self.pools, config)
        self.tiers = None if self.evictor.host is None else Tiers(self, self.evictor.host)

    def occupancy(self) -> Occupancy:
        """All pools at this moment."""
        occupancy, host = self.pools.occupancy(), self.evictor.host
        if host is None:
            return occupancy
        return replace(occupancy, host_kv_free=host.kv_free, host_state_free=host.state_free)

    def lookup(self, tokens: Tokens, length: int) -> Lookup:
        """Finds the longest reusable prefix of the first `length` tokens, and makes it recent."""
        found = best = self.tree.root
        matched = kv_hit = 0
        length = align_down(length, self.config.page_tokens)
        if length <= 0:
            return Lookup(node=best, matched=0, found=found, host_hit=0, branch=NONE)
        for node in self._descend(tokens, length):
            kv_hit += node.length
            if node.has_state or node.host_state:
                found = node
            if node.has_state and node.on_device:
                best, matched = node, kv_hit
        self._make_recent(found)
        beyond = takewhile(lambda node: node is not best, found.to_root())
        host_hit = sum(node.length for node in beyond if node.on_host)
        branch = branching_position(kv_hit, matched + host_hit, self.config.checkpoint_grid_tokens)
        return Lookup(node=best, matched=matched, found=found, host_hit=host_hit, branch=branch)

    def insert(self, tokens: Tokens, length: int, *, protected: int, counted: int) -> Inserted:
        """Puts the first `length` tokens, whole pages, into the tree, with a state at their end.

        Args:
            tokens: The request's sequence.
            length: Tokens to insert.
            protected: Tokens that the tree held for this request before; past them its own copies are freed.
            counted: Tokens that this request has counted as hits before.
        """
        end = align_down(length, self.config.page_tokens)
        node, position = self.tree.root, 0
        for child in self._descend(tokens, end, touching=True):
            if child.on_device:
                self.pools.kv_free += max(0, position + child.length - max(protected, position))
            elif self.tiers is not None:
                self.tiers.taken_back(child)
            node, position = child, position + child.length
            self._count(child, is_new=position > counted)
        if end == 0:
            return Inserted(node=node, length=0, state_kept=False)
        if position == end:
            kept = self._offer_state(node)
            if self.tiers is not None:
                self.tiers.ended(node)
            return Inserted(node=node, length=end, state_kept=kept)
        leaf = self.tree.add_leaf(node, tokens, position, end - position)
        self.pools.kv_evictable += leaf.length
        self.evictor.add_state(leaf)
        self._count(leaf, is_new=end > counted)
        return Inserted(node=leaf, length=end, state_kept=True)

    def lock(self, node: Node, *, with_state: bool = True) -> Lock:
        """Locks the KV of a node and its ancestors, and the state of that node alone."""
        for held in node.to_root():
            if held.kv_locks == 0 and held.on_device:
                self.pools.kv_evictable -= held.length
                self.pools.kv_protected += held.length
            held.kv_locks += 1
        counts = node is not self.tree.root and (node.has_state or self.config.rules.bare_node_locks)
        if with_state and counts:
            if node.state_locks == 0 and node.has_state:
                self.pools.state_evictable -= 1
                self.pools.state_protected += 1
            node.state_locks += 1
        return Lock(node=node, holds_state=with_state and counts)

    def unlock(self, lock: Lock) -> None:
        """Undoes a lock."""
        for held in lock.node.to_root():
            held.kv_locks -= 1
            if held.kv_locks == 0 and held.on_device:
                self.pools.kv_evictable += held.length
                self.pools.kv_protected -= held.length
        if lock.holds_state:
            self.unlock_state(lock)

    def unlock_state(self, lock: Lock) -> Lock:
        """Lets go of the state of a locked node and keeps its KV locked."""
        lock.node.state_locks -= 1
        if lock.node.state_locks == 0 and lock.node.has_state:
            self.pools.state_evictable += 1
            self.pools.state_protected -= 1
        return Lock(node=lock.node, holds_state=False)

    def _descend(self, tokens: Tokens, limit: int, *, touching: bool = False) -> Iterator[Node]:
        """Walks existing nodes along the tokens; a walk that ends inside a node splits it there."""
        node, position = self.tree.root, 0
        while position < limit:
            child = self.tree.child(node, tokens, position)
            if child is None:
                return
            if touching:
                child.touched = self.tree.tick()
            shared = self.tree.shared(child, tokens, position, limit)
            node = child if shared == child.length else self._split(child, shared)
            position += shared
            yield node
            if node is not child:
                return

    def _split(self, node: Node, length: int) -> Node:
        upper = self.tree.split(node, length)
        if self.tiers is not None:
            self.tiers.split(upper)
        return upper

    def _count(self, node: Node, *, is_new: bool) -> None:
        """An insert counts a node that ends beyond what its request counted before."""
        if is_new and not (self.config.host and self.config.host.writes_back):
            node.hits += 1
            if self.tiers is not None:
                self.tiers.met(node)

    def _make_recent(self, best: Node) -> None:
        if self.config.rules.refreshes_whole_path:
            self.evictor.make_path_recent(best)
        elif best.has_state:
            self.evictor.make_state_recent(best)
        time = self.tree.tick()
        for level, node in enumerate(best.to_root()):
            node.touched = time - level

    def _offer_state(self, node: Node) -> bool:
        """Gives an existing node a state, or refreshes the one it has; either way the node becomes recent."""
        kept = not node.has_state
        if kept:
            self.evictor.add_state(node, touching=True)
        else:
            self.evictor.make_state_recent(node)
            node.touched = self.tree.tick()
        return kept
