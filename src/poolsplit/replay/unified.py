"""One byte buffer for both pools, as unified memory has it: states grow from one end, KV pages from the other."""

from __future__ import annotations

from dataclasses import dataclass

from poolsplit.errors import InputError
from poolsplit.units import ceil_div

MOST = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedMemory:
    """What a state and a token take of the buffer; the two pools that are asked for say how large it is.

    Source: docs/replay.md section 11.

    Known error:
        Holes are closed at once; the engine closes them when an allocation asks for it, and waits for copies.
    """

    slot_bytes: int
    """Bytes of one state slot."""
    token_bytes: int
    """Bytes of one KV token."""

    def __post_init__(self) -> None:
        for name in ("slot_bytes", "token_bytes"):
            if not 0 < getattr(self, name) <= MOST:
                raise InputError(f"`{name}` is {getattr(self, name)}", hint=f"it must be from 1 to {MOST}")

    @property
    def slot_cost_tokens(self) -> int:
        """KV tokens that admission counts for one state slot."""
        return ceil_div(self.slot_bytes, self.token_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """One buffer of a server, with the room that is set aside at its start."""

    memory: UnifiedMemory
    page_tokens: int
    total_bytes: int

    @property
    def page_bytes(self) -> int:
        """Bytes of one KV page."""
        return self.page_tokens * self.memory.token_bytes

    @property
    def _aside_bytes(self) -> int:
        """Slot 0 and page 0 take what is written for nobody."""
        return max(self.memory.slot_bytes, self.page_bytes)

    @property
    def first_slot(self) -> int:
        """The first state slot behind what is set aside."""
        return ceil_div(self._aside_bytes, self.memory.slot_bytes)

    @property
    def state_ids(self) -> int:
        """State slots that have a name, if they all had bytes."""
        return self.total_bytes // self.memory.slot_bytes - 1

    @property
    def _pages(self) -> int:
        return self.total_bytes // self.memory.token_bytes // self.page_tokens

    @property
    def kv_tokens(self) -> int:
        """KV tokens, if they had all the bytes."""
        first_token = ceil_div(self._aside_bytes, self.memory.token_bytes)
        return (self._pages - ceil_div(first_token, self.page_tokens)) * self.page_tokens

    @property
    def free_bytes(self) -> int:
        """Bytes between both ends of an empty buffer."""
        return self._pages * self.page_bytes - self.first_slot * self.memory.slot_bytes
