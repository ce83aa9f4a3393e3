"""One server as the replay sees it: the two pools and the options that decide what survives in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolsplit.errors import InputError
from poolsplit.replay.unified import Buffer

if TYPE_CHECKING:
    from poolsplit.engines.cache_rules import CacheRules
    from poolsplit.replay.host_pools import HostPools
    from poolsplit.replay.unified import UnifiedMemory

Strategy = Literal["no_buffer", "extra_buffer", "extra_buffer_lazy"]
Eviction = Literal["lru", "lfu", "slru", "fifo", "mru", "filo", "priority"]
Order = Literal["fcfs", "lpm", "dfs-weight", "lof"]

STRATEGIES: tuple[Strategy, ...] = ("no_buffer", "extra_buffer", "extra_buffer_lazy")
EVICTIONS: tuple[Eviction, ...] = ("lru", "lfu", "slru", "fifo", "mru", "filo", "priority")
ORDERS: tuple[Order, ...] = ("fcfs", "lpm", "dfs-weight", "lof")
MOST = 1 << 60
"""No size is larger; a pool of so much never fills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig:
    """Pools and options of one server, with the cache law it follows."""

    rules: CacheRules
    """The cache law of the engine's release."""
    kv_tokens: int
    """Rows of the KV pool."""
    state_slots: int
    """Usable slots of the state pool."""
    strategy: Strategy = "extra_buffer"
    """Where checkpoints come from."""
    overlap: bool = True
    """The next step is launched before the last one's results are processed."""
    page_tokens: int = 1
    """Tokens of one page of the tree and of the KV allocator."""
    state_chunk_tokens: int = 64
    """Tokens between two states of the model's recurrent kernel."""
    chunk_tokens: int = 8192
    """New tokens of one prefill batch."""
    max_prefill_tokens: int = 16384
    """New tokens after which a prefill pass ends."""
    track_interval_tokens: int = 256
    """Tokens between two decode snapshots, before it is widened to the checkpoint grid."""
    max_states_per_path: int | None = None
    """Soft cap on the states from the root to a new one; None is no cap."""
    max_running_requests: int | None = None
    """Most requests that run at once; None takes what the slots allow."""
    max_context_tokens: int | None = None
    """Longest request; None takes what the KV pool holds."""
    eviction: Eviction = "lru"
    """Which KV leaf goes first; states always go least recently used first."""
    order: Order = "fcfs"
    """Order of the waiting queue."""
    conservativeness_ratio: float = 1.0
    """Scales the share of outputs to come that admission reserves."""
    skip_decode_lock: bool = False
    """A running request does not lock the state that it last put into the tree."""
    refresh_waiting: bool = True
    """Prefixes of waiting requests are refreshed now and then (least-recently-used eviction only)."""
    mixed_chunks: bool = False
    """Running requests take their decode step inside prefill batches."""
    host: HostPools | None = None
    """What of both pools the host keeps, if it keeps any."""
    unified: UnifiedMemory | None = None
    """Both pools share the bytes that they add up to, at these prices."""

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_sizes()
        self._check_rules()

    def _check_choices(self) -> None:
        for name, value, known in (
            ("strategy", self.strategy, STRATEGIES),
            ("eviction policy", self.eviction, EVICTIONS),
            ("schedule policy", self.order, ORDERS),
        ):
            if value not in known:
                raise InputError(f"the {name} `{value}` cannot be replayed", hint=f"known are {', '.join(known)}")

    def _check_sizes(self) -> None:
        for name in ("kv_tokens", "state_slots", "page_tokens", "state_chunk_tokens", "chunk_tokens",
                     "max_prefill_tokens", "track_interval_tokens"):  # fmt: skip
            if getattr(self, name) < 1:
                raise InputError(f"`{name}` is {getattr(self, name)}", hint="it must be at least 1")
            if getattr(self, name) > MOST:
                raise InputError(f"`{name}` is {getattr(self, name)}", hint=f"it must be at most {MOST}")
        if self.max_running_requests is not None and self.max_running_requests < 1:
            raise InputError(
                f"{self.max_running_requests} running requests serve nobody", hint="give at least 1, or leave it out"
            )
        if self.max_states_per_path is not None and self.max_states_per_path < 1:
            raise InputError("a cap on states a path must be at least 1", hint="leave it out for no cap")
        if self.kv_tokens < self.page_tokens:
            raise InputError(
                f"the KV pool of {self.kv_tokens} tokens is smaller than one page",
                hint=f"give it at least {self.page_tokens} tokens",
            )
        if self.running_cap < 1:
            raise InputError(
                f"{self.state_slots} state slots serve no request: this strategy sets aside "
                f"{self.slots_per_request} for each running one",
                hint=f"give the state pool at least {self.slots_per_request} slots",
            )

    def _check_rules(self) -> None:
        if self.strategy == "no_buffer" and self.overlap:
            raise InputError("`no_buffer` runs without overlap", hint="leave overlap out, or take `extra_buffer`")
        if self.strategy == "no_buffer" and self.page_tokens > 1:
            raise InputError(
                "`no_buffer` needs pages of one token", hint="set the page size to 1, or take `extra_buffer`"
            )
        if self.strategy == "extra_buffer_lazy" and not self.overlap:
            raise InputError("`extra_buffer_lazy` runs with overlap only", hint="take `extra_buffer` without overlap")
        if self.rules.sparse_checkpoints and not self.tracks:
            raise InputError(
                "sparse checkpoints are not described for `no_buffer`, which never keeps a state where prompts diverge",
                hint="take `extra_buffer`",
            )
        if self.host is not None and not self.rules.host_tier:
            raise InputError(
                f"the host tier of release {self.rules.version} is not known", hint="leave it out, or follow 0.5.23"
            )
        if self.unified is not None and not self.rules.unified_memory:
            raise InputError(
                f"unified memory of release {self.rules.version} is not known", hint="leave it out, or follow 0.5.23"
            )
        if self.unified is not None and self.host is not None:
            raise InputError("unified memory is not replayed with a host tier", hint="leave one of the two out")
        if self.max_states_per_path is not None and not self.rules.path_cap:
            raise InputError(f"release {self.rules.version} has no cap on states a path", hint="leave the cap out")
        if self.skip_decode_lock and not self.rules.decode_lock_option:
            raise InputError(
                f"release {self.rules.version} always locks the state of a running request",
                hint="leave that option out",
            )

    @property
    def tracks(self) -> bool:
        """Snapshots are taken into slots of their own, at the checkpoint grid."""
        return self.strategy != "no_buffer"

    @property
    def lazy(self) -> bool:
        """A second tracking slot is taken only while a snapshot is written."""
        return self.strategy == "extra_buffer_lazy"

    @property
    def tracking_slots(self) -> int:
        """Slots that a request takes beside its active one when it starts."""
        if not self.tracks:
            return 0
        return 2 if self.overlap and not self.lazy else 1

    @property
    def slots_per_request(self) -> int:
        """Slots that the server sets aside for each running request when it caps concurrency."""
        spared = 1 if self.skip_decode_lock and self.tracks else 0
        return self.rules.slots_beside_tracking - spared + self.tracking_slots

    @property
    def running_cap(self) -> int:
        """Most requests that run at once."""
        granted = min(self.state_slots // self.slots_per_request, max(1, self.kv_tokens // 2))
        return granted if self.max_running_requests is None else min(granted, self.max_running_requests)

    @property
    def path_cap(self) -> int | None:
        """Soft cap on the states of a path that is in force; sparse checkpoints have one of 1 of their own."""
        if self.max_states_per_path is None and self.rules.sparse_checkpoints:
            return 1
        return self.max_states_per_path

    @property
    def state_step_tokens(self) -> int:
        """Tokens between two places where a state can be kept: kernel chunk or page, the larger."""
        return max(self.state_chunk_tokens, self.page_tokens)

    @property
    def checkpoint_grid_tokens(self) -> int:
        """Tokens between two checkpoints of a prefill, counted from its chunk's start."""
        if not self.rules.grid_joins_pages:
            return self.state_step_tokens
        return math.lcm(self.state_step_tokens, self.page_tokens)

    @property
    def track_grid_tokens(self) -> int:
        """Tokens between two decode snapshots, counted from the start of the sequence."""
        return math.lcm(self.checkpoint_grid_tokens, self.track_interval_tokens)

    @property
    def request_limit_tokens(self) -> int:
        """Tokens that one request, input and output, must stay below."""
        context = self.kv_tokens + 8 if self.max_context_tokens is None else self.max_context_tokens
        return min(context - 1, self.kv_tokens - 1)

    @property
    def buffer(self) -> Buffer | None:
        """The buffer of both pools under unified memory."""
        if self.unified is None:
            return None
        total = self.kv_tokens * self.unified.token_bytes + self.state_slots * self.unified.slot_bytes
        return Buffer(memory=self.unified, page_tokens=self.page_tokens, total_bytes=total)

    @property
    def state_capacity_slots(self) -> int:
        """State slots that can be in use at once, if their bytes are there."""
        return self.state_slots if self.buffer is None else self.buffer.state_ids

    @property
    def kv_capacity_tokens(self) -> int:
        """Rows of the KV pool in whole pages; under unified memory those of the whole buffer."""
        if self.buffer is not None:
            return self.buffer.kv_tokens
        return self.kv_tokens // self.page_tokens * self.page_tokens

    @property
    def host_kv_capacity_tokens(self) -> int:
        """Rows of the host's KV pool in whole pages."""
        return 0 if self.host is None else self.host.kv_tokens // self.page_tokens * self.page_tokens

    @property
    def first_new_token_ratio(self) -> float:
        """Share of outputs to come that admission reserves at the start."""
        return min(self.rules.new_token_ratio * self.conservativeness_ratio, 1.0)

    @property
    def least_new_token_ratio(self) -> float:
        """Share below which it does not fall."""
        return min(self.first_new_token_ratio * self.rules.new_token_floor_ratio, 1.0)

    @property
    def new_token_decay(self) -> float:
        """What one decode step without retraction takes off that share."""
        return (self.first_new_token_ratio - self.least_new_token_ratio) / self.rules.new_token_decay_steps
