"""The two pools as counters: what is free, and what the tree holds with and without a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.workload import Occupancy

if TYPE_CHECKING:
    from poolsplit.replay.unified import Buffer


@dataclass(slots=True)
class Pools:
    """Free, evictable and protected units of both pools; what is in none of them is private to a request."""

    kv_free: int
    state_free: int
    kv_evictable: int = 0
    kv_protected: int = 0
    state_evictable: int = 0
    state_protected: int = 0
    buffer: Buffer | None = None
    """Bytes that both pools share under unified memory; what is free is then no more than what has a name."""

    aside: int = 0
    """Under unified memory, slots set aside for the requests that a pass may look up; they take bytes meanwhile."""

    def set_aside(self, slots: int) -> None:
        """Sets slots aside for a pass, all of them or none."""
        if self.buffer is not None and slots <= self.states_available:
            self.state_free -= slots
            self.aside = slots

    def return_aside(self) -> None:
        """Gives back what of them nobody took."""
        self.state_free += self.aside
        self.aside = 0

    @property
    def kv_available(self) -> int:
        """KV tokens that can be taken now."""
        if self.buffer is None:
            return self.kv_free
        return min(self.kv_free, self._gap_bytes // self.buffer.page_bytes * self.buffer.page_tokens)

    @property
    def states_available(self) -> int:
        """State slots that can be taken now."""
        if self.buffer is None:
            return self.state_free
        named = self.state_free - (self.buffer.first_slot - 1)
        return max(0, min(named, self._gap_bytes // self.buffer.memory.slot_bytes))

    @property
    def _gap_bytes(self) -> int:
        """Bytes that nobody has."""
        if self.buffer is None:
            raise AssertionError("two pools have no gap")
        tokens, slots = self.buffer.kv_tokens - self.kv_free, self.buffer.state_ids - self.state_free
        taken = tokens * self.buffer.memory.token_bytes + slots * self.buffer.memory.slot_bytes
        return max(0, self.buffer.free_bytes - taken)

    def take_kv(self, tokens: int) -> None:
        """Takes free KV tokens.

        Raises:
            InfeasiblePlanError: There are too few; the engine stops here, too.
        """
        if tokens > self.kv_available:
            raise InfeasiblePlanError("the KV pool cannot hold a batch that admission let in")
        self.kv_free -= tokens

    def take_states(self, slots: int) -> None:
        """Takes free state slots.

        Raises:
            InfeasiblePlanError: There are too few; the engine stops here, too.
        """
        if slots > self.states_available:
            raise InfeasiblePlanError(
                "the state pool ran out of slots in the middle of a step, which stops the engine",
                hint="give the state pool at least one slot more than running requests times slots per request",
            )
        self.state_free -= slots

    def occupancy(self) -> Occupancy:
        """Both pools at this moment."""
        return Occupancy(
            kv_free=self.kv_available,
            kv_evictable=self.kv_evictable,
            kv_protected=self.kv_protected,
            state_free=self.states_available,
            state_evictable=self.state_evictable,
            state_protected=self.state_protected,
        )
