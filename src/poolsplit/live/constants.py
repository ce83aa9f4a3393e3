"""Byte and slot constants of one server's pools, and the split that a measured request length asks for."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

RATIO_STEP = 10_000
"""Ratios are rounded up to four decimals, so that the slots asked for are there after the engine's floor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolConstants:
    """What a slot and a token cost on one rank, and how many slots a request takes."""

    state_bytes_per_slot: int
    kv_bytes_per_token: float
    slots_per_request: int
    draft_states: int = 0
    dcp_size: int = 1
    origin: str

    @property
    def token_equiv(self) -> float:
        """KV rows that one state slot is worth."""
        return self.state_bytes_per_slot / self.kv_bytes_per_token


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSizes:
    """Both pools of one rank as they are now, and the request limit."""

    state_slots: int
    kv_tokens: int
    """Rows of one rank."""
    granted: int | None

    def bytes(self, constants: PoolConstants) -> int:
        """Bytes of both pools, the padding slot and the verify scratch of the granted requests."""
        slots, drafts = constants.slots_per_request, constants.draft_states
        held = min(self.granted if self.granted is not None else self.state_slots, self.state_slots // slots)
        states = self.state_slots + 1 + ((held + 1) * drafts if drafts else 0)
        return states * constants.state_bytes_per_slot + int(self.kv_tokens * constants.kv_bytes_per_token)

    def running_requests(self, constants: PoolConstants, request_tokens: float) -> int:
        """Requests of a length that these pools hold at once."""
        by_state = self.state_slots // constants.slots_per_request
        by_kv = int(self.kv_tokens * constants.dcp_size // max(1.0, request_tokens))
        return min(by_state, by_kv, self.granted if self.granted is not None else by_state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The split that balances both pools for one request length."""

    state_to_kv_ratio: float
    state_slots: int
    kv_tokens: int
    running_requests: int
    now_running_requests: int
    request_tokens: float

    @property
    def gain_requests(self) -> int:
        """Requests more than now."""
        return self.running_requests - self.now_running_requests


def fit_split(constants: PoolConstants, sizes: PoolSizes, request_tokens: float) -> Fit | None:
    """Divides the bytes of both pools anew for requests of `request_tokens`; None when not one request fits.

    The bytes are (K + 1) slots, the KV rows, and the verify scratch of the granted requests. n requests take
    n x S slots and n x D verify states of p bytes, n x L / dcp rows of c bytes, and (1 + D) padding states.

    Source: the balance S, D and L of the start-up solver; `tests/unit/live/test_constants.py` puts the ratio back into
        the solver and counts the requests.

    Known error:
        Page alignment and other stages' widths are left out: up to one request under pipeline parallelism. The request
        limit of the launch is not a pool: where it binds, no split helps, and the caller says so.
    """
    slot, row = constants.state_bytes_per_slot, constants.kv_bytes_per_token / constants.dcp_size
    slots, drafts = constants.slots_per_request, constants.draft_states
    pool_bytes = sizes.bytes(constants)
    padding = slot * (1 + drafts)
    requests = int((pool_bytes - padding) // ((slots + drafts) * slot + request_tokens * row))
    if requests < 1:
        return None
    state_bytes = requests * (slots + drafts) * slot + padding
    return Fit(
        state_to_kv_ratio=ceil(state_bytes / (pool_bytes - state_bytes) * RATIO_STEP) / RATIO_STEP,
        state_slots=requests * slots,
        kv_tokens=int((pool_bytes - state_bytes) // row),
        running_requests=requests,
        now_running_requests=sizes.running_requests(constants, request_tokens),
        request_tokens=request_tokens,
    )
