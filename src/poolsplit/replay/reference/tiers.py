"""What moves between device and host: copies after an insert, and the load of a match (docs/replay.md section 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.replay.reference.cache import Cache, Lock
    from poolsplit.replay.reference.host import Host
    from poolsplit.replay.reference.live import Live
    from poolsplit.replay.reference.tree import Node

LEAST_KV_LOAD = 10
"""Fewer KV tokens are not worth a load, unless a state comes with them."""


@dataclass(frozen=True, slots=True)
class _Load:
    lock: Lock
    segment_start: int


class Tiers:
    """Copies and loads that were begun: they hold their nodes, and are done when the next iteration begins."""

    def __init__(self, cache: Cache, host: Host) -> None:
        self._cache = cache
        self._host = host
        self._copying: list[Node] = []
        self._copy_locks: list[Lock] = []
        self._loads: list[_Load] = []

    def settle(self) -> None:
        """What was begun in the iteration before is done: nodes are let go."""
        for node in self._copying:
            node.copying = False
            self._host.note_double(node)
        for lock in self._copy_locks:
            self._cache.unlock(lock)
        for load in self._loads:
            self._end(load)
        self._copying, self._copy_locks, self._loads = [], [], []

    def split(self, upper: Node) -> None:
        """A node that may be under way was cut in two."""
        if upper.copying:
            self._copying.append(upper)
        self._host.note_double(upper)

    def met(self, node: Node) -> None:
        """An insert has counted a node: it is copied once it was met often enough."""
        if not (self._host.asked.writes_back or node.on_host) and node.hits >= self._host.asked.hits_before_copy:
            self._copy_path(node)

    def ended(self, node: Node) -> None:
        """An insert has ended on a node that was there: a state that the host lacks follows the KV it has."""
        if node.on_host and node.has_state and not (self._host.asked.writes_back or node.copying or node.host_state):
            self._copy_path(node)

    def taken_back(self, node: Node) -> None:
        """An insert brings KV for a node that had it on the host alone."""
        self._put_on_device(node)
        self._host.note_double(node)

    def load(self, live: Live) -> int:
        """Brings a match that lies on the host back to the device; gives the tokens gained, or none if it fails."""
        if live.found is None or live.match is None:
            raise AssertionError("a request is looked up before its match is loaded")
        guard = self._cache.lock(live.found)
        start = live.found.depth - live.found.length
        self._host.pin(live.found)
        loaded = self._load(live.found, live)
        self._host.unpin(live.found, segment_start=start)
        self._cache.unlock(guard)
        if not loaded:
            return 0
        gained = live.found.depth - live.prefix
        live.match = live.found
        return gained

    def _load(self, node: Node, live: Live) -> bool:
        start = node.depth - node.length
        self._host.pin(node)
        guard = self._cache.lock(node)
        lends_slot = not live.holds_slot and node.host_state and not node.has_state
        if lends_slot:
            self._cache.evictor.free_states_to(1)
            self._cache.pools.take_states(1)
            live.holds_slot = True
        done = self._bring(node)
        self._cache.unlock(guard)
        if not done:
            self._host.unpin(node, segment_start=start)
            if lends_slot:
                self._cache.pools.state_free += 1
                live.holds_slot = False
            return False
        self._loads.append(_Load(self._cache.lock(node), start))
        return True

    def _bring(self, node: Node) -> bool:
        """Finds room on the device for what is on the host alone, and puts it there."""
        missing = [above for above in node.to_root() if not above.on_device]
        tokens = sum(above.length for above in missing)
        wants_state = node.host_state and not node.has_state
        if (wants_state and node.loading is not None and node.loading is not node) or not (
            wants_state or tokens >= LEAST_KV_LOAD
        ):
            return False
        evictor, pools = self._cache.evictor, self._cache.pools
        evictor.free_kv_to(tokens)
        if pools.kv_free < tokens:
            return False
        if wants_state:
            evictor.free_states_to(1)
            if pools.state_free < 1:
                return False
        pools.take_kv(tokens)
        for above in reversed(missing):
            self._put_on_device(above)
            above.loading = node if self._host.asked.writes_back else None
        self._host.loaded_tokens += tokens
        if wants_state:
            pools.take_states(1)
            self._host.taken_back(node)
            self._host.loaded_states += 1
            evictor.hang_state(node)
        return True

    def _end(self, load: _Load) -> None:
        anchor = load.lock.node
        self._cache.unlock(load.lock)
        self._host.unpin(anchor, segment_start=load.segment_start)
        for node in anchor.to_root():
            if node.loading is anchor:
                node.loading = None
                self._host.note_double(node)

    def _put_on_device(self, node: Node) -> None:
        node.on_device = True
        if node.kv_locks:
            self._cache.pools.kv_protected += node.length
        else:
            self._cache.pools.kv_evictable += node.length

    def _copy_path(self, node: Node) -> None:
        """Copies a node after its ancestors that the host lacks, until one finds no room."""
        path = [node]
        for above in node.to_root():
            if above is not node:
                if above.on_host:
                    break
                path.append(above)
        for part in reversed(path):
            if part.on_host and (part.host_state or not part.has_state):
                continue
            if not self._host.store(part):
                return
            self._copy_locks.append(self._cache.lock(part))
            part.copying = True
            self._copying.append(part)
