"""The radix tree of docs/replay.md section 1: nodes over spans of tokens, times, and splits."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from poolsplit.replay.reference.tokens import Tokens, common_prefix
from poolsplit.units import align_down

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = 1 << 20
"""Parts of one tick: a lookup makes children newer than their parents by one part a level."""


@dataclass(slots=True, eq=False)
class Node:
    """A span of tokens with its KV, and perhaps a state after its last token."""

    tokens: Tokens
    start: int
    length: int
    parent: Node | None
    touched: int
    created: int
    children: dict[tuple[int, ...], Node] = field(default_factory=dict)
    has_state: bool = False
    kv_locks: int = 0
    state_locks: int = 0
    hits: int = 0
    on_device: bool = True
    """Its KV is on the device; without a host tier it always is."""
    on_host: bool = False
    """Its KV has a copy on the host."""
    host_state: bool = False
    kv_pins: int = 0
    """Loads that read its KV from the host."""
    state_pins: int = 0
    copying: bool = False
    """A copy of it to the host is under way."""
    loading: Node | None = None
    """Node whose load brings its KV back, while that is under way."""

    @property
    def depth(self) -> int:
        """Tokens from the root to the end of this node."""
        return sum(node.length for node in self.to_root())

    @property
    def last_token(self) -> int:
        """Id of its last token."""
        return self.tokens.at(self.start + self.length - 1)

    @property
    def is_evictable_leaf(self) -> bool:
        """A node without children on the device and without any lock; its state does not matter."""
        if self.parent is None or not self.on_device or self.kv_locks or self.state_locks:
            return False
        return not any(child.on_device for child in self.children.values())

    @property
    def is_host_leaf(self) -> bool:
        """A node on the host alone, without children, locks and pins."""
        held = self.kv_locks or self.state_locks or self.kv_pins or self.state_pins
        return self.on_host and not (self.on_device or self.children or held)

    def to_root(self) -> Iterator[Node]:
        """This node and its ancestors, without the root."""
        node = self
        while node.parent is not None:
            yield node
            node = node.parent


class Tree:
    """The nodes, and the counter that orders every access."""

    def __init__(self, page_tokens: int) -> None:
        self.page_tokens = page_tokens
        self._ticks = count(1)
        self.root = self._new_node(Tokens([(0, 1)]), 0, 0, None)

    def tick(self) -> int:
        """The next access time."""
        return next(self._ticks) * LEVELS

    def child(self, node: Node, tokens: Tokens, position: int) -> Node | None:
        """The child that begins with the page at a position."""
        return node.children.get(tokens.window(position, self.page_tokens))

    def shared(self, node: Node, tokens: Tokens, position: int, limit: int) -> int:
        """Tokens of a node's span found at a position, in whole pages."""
        wanted = min(node.length, limit - position)
        return align_down(common_prefix(node.tokens, node.start, tokens, position, wanted), self.page_tokens)

    def split(self, node: Node, length: int) -> Node:
        """Cuts a node in two and gives the upper half.

        The upper half takes KV locks, hit count and creation time; state and state lock stay below. Both halves
        become recent, the lower one more so.
        """
        if node.parent is None:
            raise AssertionError("the root has no span to split")
        upper = self._new_node(node.tokens, node.start, length, node.parent)
        upper.kv_locks, upper.hits, upper.created = node.kv_locks, node.hits, node.created
        upper.on_device, upper.on_host, upper.kv_pins = node.on_device, node.on_host, node.kv_pins
        upper.copying, upper.loading = node.copying, node.loading
        node.parent.children[node.tokens.window(node.start, self.page_tokens)] = upper
        node.parent, node.start, node.length = upper, node.start + length, node.length - length
        upper.children[node.tokens.window(node.start, self.page_tokens)] = node
        node.touched = self.tick()
        return upper

    def add_leaf(self, parent: Node, tokens: Tokens, start: int, length: int) -> Node:
        """Hangs a new leaf under a node."""
        leaf = self._new_node(tokens, start, length, parent)
        parent.children[tokens.window(start, self.page_tokens)] = leaf
        return leaf

    def remove_leaf(self, leaf: Node) -> None:
        """Takes a leaf out of the tree."""
        if leaf.parent is not None:
            del leaf.parent.children[leaf.tokens.window(leaf.start, self.page_tokens)]

    def nodes(self) -> Iterator[Node]:
        """Every node but the root."""
        pending = list(self.root.children.values())
        while pending:
            node = pending.pop()
            yield node
            pending.extend(node.children.values())

    def _new_node(self, tokens: Tokens, start: int, length: int, parent: Node | None) -> Node:
        return Node(tokens, start, length, parent, touched=self.tick(), created=self.tick())
