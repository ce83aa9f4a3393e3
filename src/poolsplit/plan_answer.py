"""The answer of a plan: what runs now, what to set, and why; field names are those of the JSON document.

These values are read and never compared; without generated comparisons a start is a few milliseconds shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from poolsplit.derivation import Step
    from poolsplit.plan_beside import MixFigures, PictureFigures, ReleaseFigures, RoleFigures, SessionFigures

ConstantsOrigin = Literal["catalog", "config", "hub", "boot_log"]
RestOrigin = Literal["given", "pools", "weights", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Constants:
    """What one slot and one row cost on one rank of the widest stage."""

    state_bytes_per_slot: int | None
    kv_bytes_per_token: int | float | None
    token_equiv: float | None
    slots_per_request: int | None
    draft_states: int
    dcp_size: int
    workers: int
    page_tokens: int
    origin: ConstantsOrigin
    token_equiv_published: float | None = None
    """From a log: the published division, which leaves out the padding slot."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RestFigure:
    """What both pools share on one rank."""

    bytes: int
    origin: RestOrigin
    interval_bytes: tuple[int, int]
    """Where the true figure lies."""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SplitFigures:
    """One split under one workload; counts are per data-parallel worker."""

    mode: Literal["ratio", "pin"]
    state_to_kv_ratio: float | None
    max_mamba_cache_size: int | None
    state_slots: int | None
    kv_tokens: int
    swa_tokens: int | None
    state_requests: int
    kv_requests: int
    max_running_requests: int
    running_requests: int
    total_running_requests: int
    pp_max_micro_batch_size: int
    binding: Literal["state", "kv", "balanced", "request_cap"]
    kv_used_fraction: float
    state_used_fraction: float
    held_slots_per_request: float | None
    """Slots that a running request really holds, where operators have measured it; the plan goes by the reserve."""
    predicted_state_usage_fraction: float | None
    """Occupancy of the state pool to expect while `running_requests` run."""
    effective_ratio: float | None
    """State to KV as the bytes fell; differs from the ratio where verify scratch is priced by the slot."""
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PricedLever:
    """One change, solved in full."""

    name: str
    flags: tuple[str, ...]
    status: Literal["offered", "refused"]
    reason: str | None
    running_requests: int | None
    """Per worker."""
    total_running_requests: int | None
    kv_tokens: int | None
    delta_requests: int | None
    """Requests gained over the recommended plan, over all workers."""
    delta_kv_tokens: int | None
    state_slots: int | None
    removes: tuple[str, ...]
    """Flags of the launch that are taken away."""
    launch_command: str | None
    """The launch with the lever and the split that it is given; None where it is refused or no launch is known."""
    risk: str
    """What to check first: accuracy, speed, reuse, platform."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class StageFigures:
    """One pipeline stage, on one rank of it."""

    layers: int
    state_layers: int | None
    kv_layers: int | None
    state_bytes: int
    """As allocated: slots of the stage's own layers, with scratch and rings."""
    kv_bytes: int
    idle_bytes: int
    """Charged to the stage and never allocated by it, or left over because another stage holds fewer rows."""
    kv_tokens_alone: int
    """Rows that the stage would hold by itself."""
    binds: tuple[str, ...]
    """Which pools this stage limits: state, kv."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BufferFigures:
    """Memory that the engine allocates on one rank beside what it reserved."""

    name: str
    bytes: int
    reserved_bytes: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TraceRival:
    """One split on a trace, beside the recommended one."""

    name: str
    """recommended, current, default 0.9 or closed form."""
    state_slots: int | None = None
    kv_tokens: int | None = None
    recomputed_tokens: int | None = None
    cached_fraction: float | None = None
    regret_fraction: float | None = None
    """Recomputed tokens over those of the recommended split, less one."""
    running_requests: int | None = None
    reason: str | None = None
    """Why there are no figures."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TraceWhatIf:
    """The recommended split with another number of sessions, and the best split there."""

    sessions: int
    recomputed_tokens: int | None
    reason: str | None
    best_state_slots: int | None
    best_kv_tokens: int | None
    best_recomputed_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TraceLever:
    """One change to the checkpoints kept, replayed at the recommended flags."""

    name: str
    flags: tuple[str, ...]
    recomputed_tokens: int | None = None
    delta_tokens: int | None = None
    """Recomputed tokens more than without it; fewer are hits gained."""
    reason: str | None = None
    """Why there are no figures."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TraceFigures:
    """What a trace says about the split."""

    goal: str
    mode: str
    """Order of the replays: order, closed or recorded."""
    sessions: int | None
    requests: int
    input_tokens: int
    reusable_fraction: float
    """Of the input tokens, with pools that never fill."""
    binding: Literal["state", "kv"] | None
    """Pool that the next GiB is worth more in; None when neither gains."""
    state_tokens_per_gib: int
    kv_tokens_per_gib: int
    rivals: tuple[TraceRival, ...]
    cliff_pool: str | None
    """Pool that must not be smaller: a few splits away reuse breaks down. None without a cliff."""
    cliff_tokens: int | None
    """Tokens that are recomputed more beyond it; None when the order does not fit there at all."""
    least_recomputed_tokens: int
    """At the best split met; the recommended one may stand back from a cliff."""
    scheduler_recomputed_tokens: int | None
    """At the recommended split by the whole scheduler."""
    scheduler_reason: str | None
    replays: int
    levers: tuple[TraceLever, ...] = ()
    """What changes the checkpoints kept, each replayed."""
    what_if: tuple[TraceWhatIf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFigures:
    """The prefix cache of the planned launch, by the words that `replay` takes."""

    strategy: str
    page_size: int
    chunked_prefill_size: int
    track_interval: int | None
    state_chunk: int | None
    max_states_per_path: int | None
    hicache_ratio: float | None
    hicache_size: float | None
    """GB of 1e9 bytes a rank."""
    hicache_write_policy: str | None
    enable_unified_memory: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlanAnswer:
    """One plan."""

    model: str
    launch_values: dict[str, object]
    """What the launch asks for, by the engine's field names."""
    device: str
    version: str
    workload: dict[str, int | float | str | None]
    constants: Constants
    rest: RestFigure
    formula_ratio: float | None
    formula_note: str
    current: SplitFigures | None
    current_refused: str | None
    recommended: SplitFigures
    pin_reason: str | None
    launch_command: str
    cache: CacheFigures | None = None
    """What decides which prefixes survive; None where the launch keeps none, or only a log tells of it."""
    replicas: int = 1
    """Whole servers that the launch starts behind one address; every figure is one of them."""
    levers: tuple[PricedLever, ...] = ()
    stages: tuple[StageFigures, ...] = ()
    sessions: SessionFigures | None = None
    headroom: tuple[BufferFigures, ...] = ()
    free_after_pools_bytes: int | None = None
    """Predicted free memory once both pools stand, before graphs are captured."""
    mix: MixFigures | None = None
    compared: ReleaseFigures | None = None
    pair: tuple[RoleFigures, ...] = ()
    trace: TraceFigures | None = None
    picture: PictureFigures | None = None
    notes: tuple[str, ...] = ()
    """What a person should know beside the figures."""
    derivation: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def running_requests_of_all_replicas(self) -> int:
        """Requests of the recommended plan, over every worker of every replica."""
        return self.recommended.total_running_requests * self.replicas
