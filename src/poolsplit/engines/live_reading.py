"""What one look at a live server says, in words of no engine. Unknown is None.

Gauges come per rank: one data-parallel replica and pipeline stage. Counters are running totals of a replica since its
server started; what happened between two looks is the difference of two of them, taken in `live`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


def nothing() -> Mapping[str, Any]:
    """An empty mapping that nobody can fill."""
    return MappingProxyType({})


class Series(NamedTuple):
    """One sample line of an exposition: the name as printed, its labels sorted by name, the value."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolUse:
    """One pool at one moment, in its own unit: slots or tokens."""

    used: int
    """Held by running requests, locked prefixes and sessions: it cannot be taken back."""
    evictable: int
    """Cached for reuse, taken back when a request needs it."""
    available: int
    """Free."""

    @property
    def capacity(self) -> int:
        """All of the pool."""
        return self.used + self.evictable + self.available

    @property
    def used_fraction(self) -> float | None:
        """Share that cannot be taken back; None for an empty pool."""
        return self.used / self.capacity if self.capacity else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTier:
    """The pools in host memory behind the device pools."""

    used_tokens: int
    total_tokens: int
    used_states: int | None
    total_states: int | None
    """None when the server keeps no states on the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferQueues:
    """Requests between the servers of a split deployment: prefill on one, decode on the other."""

    prefill_bootstrap: int
    prefill_inflight: int
    decode_prealloc: int
    decode_transfer: int

    @property
    def total(self) -> int:
        """All requests that wait on the other side."""
        return self.prefill_bootstrap + self.prefill_inflight + self.decode_prealloc + self.decode_transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReading:
    """Gauges of one rank: the first one of a data-parallel replica's pipeline stage."""

    replica: str
    """What tells servers behind one gateway apart; empty when there is one."""
    dp_rank: int
    pp_rank: int
    model: str
    role: str
    """unified, prefill, decode or dynamic."""
    running: int | None = None
    queued: int | None = None
    state: PoolUse | None = None
    """In slots. None for a server without a state pool, or one that does not report it."""
    kv: PoolUse | None = None
    """In tokens of this rank."""
    window_kv: PoolUse | None = None
    """In tokens, of a model with a window pool."""
    state_usage_fraction: float | None = None
    kv_usage_fraction: float | None = None
    live_context_tokens: int | None = None
    """Context of all running requests together."""
    new_token_ratio: float | None = None
    kv_tokens: int | None = None
    """Rows of the KV pool, a constant of the start-up."""
    context_len: int | None = None
    host: HostTier | None = None
    queues: TransferQueues | None = None

    @property
    def label(self) -> str:
        """Name of the rank for people, such as `DP1 PP0`."""
        name = f"DP{self.dp_rank} PP{self.pp_rank}"
        return f"{self.replica} {name}" if self.replica else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One scrape of one server, before any difference is taken."""

    ranks: tuple[RankReading, ...]
    worker_counters: Mapping[str, Mapping[tuple[str, int], float]] = field(default_factory=nothing)
    """Totals by replica, then by our own counter names (see `COUNTERS`) and data-parallel rank."""
    missing: tuple[str, ...] = ()
    """Series that this release exports and the scrape lacks, in the engine's own names."""
    warnings: tuple[str, ...] = ()


def over_workers(totals: Mapping[tuple[str, int], float]) -> Mapping[str, float]:
    """Totals by name, all data-parallel ranks together."""
    added: dict[str, float] = {}
    for (name, _), value in totals.items():
        added[name] = added.get(name, 0.0) + value
    return MappingProxyType(added)


COUNTERS = (
    "computed_tokens",
    "device_hit_tokens",
    "host_hit_tokens",
    "storage_hit_tokens",
    "prompt_tokens",
    "generated_tokens",
    "finished_requests",
    "aborted_requests",
    "retracted_requests",
    "retracted_tokens",
    "evicted_tokens",
    "loaded_back_tokens",
    "loaded_back_states",
    "backed_up_tokens",
    "backed_up_states",
    "dropped_tokens",
    "queue_wait_s",
    "queue_waits",
)
"""Names of the running totals, in our own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server says of its own start-up. Unknown is None."""

    engine_version: str | None = None
    model: str | None = None
    """The name it serves."""
    model_path: str | None = None
    draft_path: str | None = None
    """Draft checkpoint of speculation, when one is named."""
    launch_command: str | None = None
    role: str | None = None
    requested_running_requests: int | None = None
    """As asked for, over all data-parallel workers; None when the launch did not say."""
    dp_workers: int = 1
    """Attention replicas that share one request limit."""
    granted_per_worker: tuple[int, ...] = ()
    """Requests that each worker admits."""
    limits: Mapping[str, int] = field(default_factory=nothing)
    """Requests a worker by what limits them: `state`, `kv` and `request_cap`, as far as they can be told."""
    expected_per_worker: int | None = None
    """What the engine's rule makes of the limits; None when one of them is missing."""
    state_slots: int | None = None
    """Per rank, after the solve."""
    kv_tokens: int | None = None
    """KV rows per rank."""
    dcp_size: int = 1
    """Ranks that share the rows of one context: logical tokens are rows times this."""
    kv_pool_bytes: int | None = None
    """K and V rows of one rank, attention only: no server reports the bytes of its state pool."""
    slots_per_request: int | None = None
    draft_states: int | None = None
    state_to_kv_ratio: float | None = None
    unified_memory: bool = False
    """One buffer serves both pools: usage fractions are not comparable with two pools."""
    int8_checkpoints: bool = False
    """Cached states live in a pool of their own, which no metric shows."""
    context_len: int | None = None
    memory_fraction: float | None = None
    """Share of the free memory before the weights that weights and pools may take."""
    accelerator: str | None = None
    """Name of the card, as its vendor spells it."""
    arguments: Mapping[str, object] = field(default_factory=nothing)
    """Launch arguments that reach memory, in the engine's names, as resolved at start-up."""

    @property
    def granted_running_requests(self) -> int | None:
        """Requests that the whole server admits."""
        return sum(self.granted_per_worker) if self.granted_per_worker else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """How an engine spells the changes that a finding proposes."""

    ratio: str
    """Flag of the ratio of state to KV."""
    fewer_slots: tuple[str, ...]
    """Flags, with their value, that lower the slots a running request reserves."""
    fewest_slots: int
    """Slots a request with those flags."""
    smaller_state: str
    """Flag and value that halve the recurrent state."""
    host_size: str
    """Flag that sizes the host tier."""
    max_running: str
    """Flag of the request limit."""
    memory_fraction: str
    """Flag of the share of memory for weights and pools."""
