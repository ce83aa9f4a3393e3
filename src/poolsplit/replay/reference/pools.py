"""The two pools as counters: what is free, and what the tree holds with and without a lock."""

from __future__ import annotations

from dataclasses import dataclass

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.workload import Occupancy


@dataclass(slots=True)
class Pools:
    """Free, evictable and protected units of both pools; what is in none of them is private to a request."""

    kv_free: int
    state_free: int
    kv_evictable: int = 0
    kv_protected: int = 0
    state_evictable: int = 0
    state_protected: int = 0

    def take_kv(self, tokens: int) -> None:
        """Takes free KV tokens.

        Raises:
            InfeasiblePlanError: There are too few; the engine stops here, too.
        """
        if tokens > self.kv_free:
            raise InfeasiblePlanError("the KV pool cannot hold a batch that admission let in")
        self.kv_free -= tokens

    def take_states(self, slots: int) -> None:
        """Takes free state slots.

        Raises:
            InfeasiblePlanError: There are too few; the engine stops here, too.
        """
        if slots > self.state_free:
            raise InfeasiblePlanError(
                "the state pool ran out of slots in the middle of a step, which stops the engine",
                hint="give the state pool at least one slot more than running requests times slots per request",
            )
        self.state_free -= slots

    def occupancy(self) -> Occupancy:
        """Both pools at this moment."""
        return Occupancy(
            kv_free=self.kv_free,
            kv_evictable=self.kv_evictable,
            kv_protected=self.kv_protected,
            state_free=self.state_free,
            state_evictable=self.state_evictable,
            state_protected=self.state_protected,
        )
