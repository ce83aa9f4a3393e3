"""What a host copy of both pools adds: states and tokens, by one ratio or one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTier:
    """Host states and tokens of one rank."""

    states: int
    tokens: int
    bytes: int
    source: str

    @classmethod
    def by_ratio(cls, ratio: float, pools: DevicePools) -> Self:
        """One ratio for both pools: as many times the device's slots and tokens."""
        states, tokens = int(pools.state_slots * ratio), int(pools.kv_tokens * ratio)
        return cls(
            states=states,
            tokens=tokens,
            bytes=states * pools.slot_bytes + int(tokens * pools.row_bytes),
            source=f"{ratio:g} times both device pools",
        )

    @classmethod
    def by_size(cls, size_gb: float, pools: DevicePools, *, shared: bool) -> Self:
        """A size in decimal GB a rank: shared in proportion to the device's bytes, or given to each pool whole.

        Known error: the device's state bytes are taken with the padding slot and verify scratch, KV without its page.
        """
        size = size_gb * 1e9
        state_share = pools.state_bytes / (pools.state_bytes + pools.kv_bytes) if shared else 1.0
        kv_share = 1 - state_share if shared else 1.0
        states, tokens = int(size * state_share / pools.slot_bytes), int(size * kv_share / pools.row_bytes)
        how = "shared by device bytes" if shared else "given to each pool"
        return cls(
            states=states,
            tokens=tokens,
            bytes=states * pools.slot_bytes + int(tokens * pools.row_bytes),
            source=f"{size_gb:g} GB a rank, {how}",
        )

    def resumes(self, states: int, rank_tokens: int) -> bool:
        """Whether all that sessions leave has a place."""
        return self.states >= states and self.tokens >= rank_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePools:
    """Both pools of one rank."""

    state_slots: int
    kv_tokens: int
    slot_bytes: int
    row_bytes: float
    state_bytes: int
    """The state side whole: padding slot and verify scratch included."""

    @property
    def kv_bytes(self) -> int:
        """The KV side."""
        return int(self.kv_tokens * self.row_bytes)
