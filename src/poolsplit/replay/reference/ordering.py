"""The waiting queue: its order, and the lookups that keep waiting prefixes recent (docs/replay.md section 2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from poolsplit.replay.reference.tokens import common_prefix

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.cache import Cache
    from poolsplit.replay.reference.live import Live
    from poolsplit.replay.reference.tree import Node


class QueueOrder:
    """Orders the queue before each prefill pass and refreshes the prefixes of those who wait."""

    def __init__(self, config: ReplayConfig, cache: Cache) -> None:
        self._config = config
        self._cache = cache
        self._passes = 0

    def arrange(self, waiting: list[Live]) -> None:
        """Reorders the queue in place."""
        order = self._config.order
        if order == "lpm" and len(waiting) <= self._config.rules.refresh_requests:
            self._longest_match_first(waiting)
            return
        if order == "dfs-weight":
            self._heaviest_subtree_first(waiting)
            return
        if order == "lof":
            waiting.sort(key=lambda live: -live.max_new)
        self._refresh(waiting)

    def _refresh(self, waiting: list[Live]) -> None:
        """Looks up the head of the queue, head last, on the first and then every so many passes."""
        if not (waiting and self._config.refresh_waiting and self._config.eviction == "lru"):
            return
        if self._passes % self._config.rules.refresh_every_passes == 0:
            for live in reversed(waiting[: self._config.rules.refresh_requests]):
                self._cache.lookup(live.tokens, live.filled)
        self._passes += 1

    def _longest_match_first(self, waiting: list[Live]) -> None:
        """Longest reusable prefix first; a request that shares a head with an earlier unmatched one goes last."""
        head = self._config.rules.shared_head_tokens
        firsts: list[Live] = []
        key: dict[Live, float] = {}
        for live in waiting:
            found = self._cache.lookup(live.tokens, live.filled)
            key[live] = -min(found.matched + found.host_hit, live.filled - 1)
            if found.matched > head:
                continue
            if any(_shared_head(live, first, head) for first in firsts):
                key[live] = float("inf")
            else:
                firsts.append(live)
        waiting.sort(key=key.__getitem__)

    def _heaviest_subtree_first(self, waiting: list[Live]) -> None:
        """Walks the tree, subtrees with the most waiting requests first, a node's own requests after its children's."""
        nodes = [self._cache.lookup(live.tokens, live.filled).node for live in waiting]
        weight = Counter(node for best in nodes for node in best.to_root())
        by_node: dict[Node, list[Live]] = {}
        for live, node in zip(waiting, nodes, strict=True):
            by_node.setdefault(node, []).append(live)
        ordered: list[Live] = []
        pending = [(self._cache.tree.root, False)]
        while pending:
            node, children_done = pending.pop()
            if children_done:
                ordered += by_node.get(node, [])
                continue
            pending.append((node, True))
            heaviest = sorted(node.children.values(), key=lambda child: -weight[child])
            pending += [(child, False) for child in reversed(heaviest)]
        waiting[:] = ordered


def _shared_head(left: Live, right: Live, head: int) -> bool:
    limit = min(left.filled, right.filled)
    return limit >= head and common_prefix(left.tokens, 0, right.tokens, 0, head) == head
