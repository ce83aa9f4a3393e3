"""What a log says about one start of a server, and about its running time.

Everything is as printed or follows from it; a field without a line is None, and the report lists it as missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.derivation import Step
    from poolsplit.engines.boot_facts import (
        Batch,
        CheckpointPool,
        ElasticPool,
        EngineError,
        GraphCapture,
        HostKv,
        HostState,
        KvPool,
        KvReduction,
        Launch,
        PrintedSize,
        ReleaseHint,
        RequestCap,
        RingBuffers,
        StatePool,
        Summary,
        UnifiedPool,
        WeightLoad,
        WindowPool,
    )

LARGEST_PAGE_TOKENS = 256
"""No page is larger; the KV pool holds one page more than it hands out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where a figure lies, given that the log rounds."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """The centre."""
        return (self.low + self.high) / 2

    def holds(self, value: float) -> bool:
        """Whether a value lies inside."""
        return self.low <= value <= self.high

    def over(self, other: Interval) -> Interval | None:
        """This divided by a positive interval."""
        if other.low <= 0:
            return None
        return Interval(low=min(self.low / other.low, self.low / other.high), high=self.high / other.low)


def total(sizes: tuple[PrintedSize | None, ...]) -> Interval | None:
    """Bytes of several printed sizes; None when there is none at all."""
    known = [size for size in sizes if size is not None]
    if not known:
        return None
    return Interval(low=max(0.0, sum(size.low_bytes for size in known)), high=sum(size.high_bytes for size in known))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """One rank's lines. `label` is the text after the time, verbatim; `-` without one."""

    label: str
    state: StatePool | None = None
    kv: tuple[KvPool, ...] = ()
    """The target's pool first, a draft's after it: not to be added up."""
    rings: RingBuffers | None = None
    checkpoints: CheckpointPool | None = None
    window: WindowPool | None = None
    load_begin: PrintedSize | None = None
    loads: tuple[WeightLoad, ...] = ()
    pool_ends: tuple[PrintedSize, ...] = ()
    graphs: tuple[GraphCapture, ...] = ()
    host_kv: HostKv | None = None
    host_state: HostState | None = None
    image_reserve: PrintedSize | None = None
    baseline: PrintedSize | None = None
    summary: Summary | None = None
    cap: RequestCap | None = None
    batches: tuple[Batch, ...] = ()
    """The first periodic lines; the rest only counts in the run-time report."""
    page_tokens: int | None = None

    @property
    def after_weights(self) -> PrintedSize | None:
        """Free memory after the last weight load."""
        return self.loads[-1].available if self.loads else None

    @property
    def state_bytes(self) -> Interval | None:
        """The state pool without scratch: state slots and one padding slot."""
        return total((self.state.conv, self.state.ssm)) if self.state else None

    @property
    def scratch_bytes(self) -> Interval | None:
        """Verify scratch of speculation."""
        return total((self.state.scratch_ssm, self.state.scratch_conv)) if self.state else None

    @property
    def kv_bytes(self) -> Interval | None:
        """All KV pools, drafts included; None when one of the target's two sizes is missing."""
        parts = [_kv_total(pool) for pool in self.kv]
        known = [part for part in parts if part is not None]
        if not known or parts[0] is None:
            return None
        return Interval(low=sum(part.low for part in known), high=sum(part.high for part in known))

    @property
    def state_bytes_per_slot(self) -> Interval | None:
        """Bytes of one slot: the pool holds one padding slot more than it hands out, so K + 1."""
        return self._per_slot(self.state_bytes)

    @property
    def ssm_bytes_per_slot(self) -> Interval | None:
        """The recurrent part of one slot."""
        return self._per_slot(total((self.state.ssm,))) if self.state else None

    @property
    def conv_bytes_per_slot(self) -> Interval | None:
        """The convolution window of one slot."""
        return self._per_slot(total((self.state.conv,))) if self.state else None

    @property
    def scratch_states(self) -> Interval | None:
        """How many states the scratch holds: (requests + 1) x draft states."""
        if self.state is None or self.ssm_bytes_per_slot is None or self.state.scratch_ssm is None:
            return None
        scratch = total((self.state.scratch_ssm,))
        return scratch.over(self.ssm_bytes_per_slot) if scratch else None

    @property
    def kv_tokens(self) -> int | None:
        """Rows of the target's KV pool."""
        return self.kv[0].tokens if self.kv else None

    @property
    def kv_bytes_per_token(self) -> Interval | None:
        """Bytes of one KV row, drafts included; the pool holds one page more than it hands out."""
        size, tokens = self.kv_bytes, self.kv_tokens
        if size is None or not tokens or tokens <= 0:
            return None
        largest = self.page_tokens or LARGEST_PAGE_TOKENS
        return Interval(low=size.low / (tokens + largest), high=size.high / (tokens + (self.page_tokens or 1)))

    def row_bytes(self, pool: int) -> Interval | None:
        """Bytes of one row of one KV pool: 0 is the target's, later ones a draft's."""
        size = _kv_total(self.kv[pool]) if pool < len(self.kv) else None
        tokens = self.kv[pool].tokens if size else None
        if size is None or not tokens or tokens <= 0:
            return None
        largest = self.page_tokens or LARGEST_PAGE_TOKENS
        return Interval(low=size.low / (tokens + largest), high=size.high / (tokens + (self.page_tokens or 1)))

    @property
    def token_equiv(self) -> Interval | None:
        """KV rows that one state slot is worth."""
        slot, row = self.state_bytes_per_slot, self.kv_bytes_per_token
        return slot.over(row) if slot and row else None

    @property
    def rest_bytes(self) -> Interval | None:
        """What both pools share: the sum of the printed pools."""
        parts = (self.state_bytes, self.kv_bytes)
        if parts[0] is None or parts[1] is None:
            return None
        rings = total(self.rings.sizes) if self.rings else None
        known = [part for part in (*parts, self.scratch_bytes, rings) if part is not None]
        return Interval(low=sum(part.low for part in known), high=sum(part.high for part in known))

    @property
    def implied_static_fraction(self) -> Interval | None:
        """The static fraction that these pools follow from: 1 - (free after weights - pools) / free before."""
        if self.load_begin is None or self.after_weights is None or self.rest_bytes is None:
            return None
        low = 1 - (self.after_weights.high_bytes - self.rest_bytes.low) / self.load_begin.low_bytes
        high = 1 - (self.after_weights.low_bytes - self.rest_bytes.high) / self.load_begin.high_bytes
        return Interval(low=low, high=high)

    @property
    def unexplained_bytes(self) -> Interval | None:
        """Memory that went between the weights and the end of the pools and that no pool line names."""
        if self.after_weights is None or not self.pool_ends or self.rest_bytes is None:
            return None
        end = self.pool_ends[-1]
        return Interval(
            low=self.after_weights.low_bytes - end.high_bytes - self.rest_bytes.high,
            high=self.after_weights.high_bytes - end.low_bytes - self.rest_bytes.low,
        )

    def _per_slot(self, size: Interval | None) -> Interval | None:
        if size is None or self.state is None or self.state.state_slots is None or self.state.state_slots < 0:
            return None
        rows = self.state.state_slots + 1
        return Interval(low=size.low / rows, high=size.high / rows)


def _kv_total(pool: KvPool) -> Interval | None:
    if pool.kv is not None:
        return total((pool.kv,))
    return total((pool.k, pool.v)) if pool.k is not None and pool.v is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakMean:
    """A periodic figure over the whole log."""

    peak: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeReport:
    """Periodic lines of a running server, put together."""

    samples: int
    running: PeakMean | None = None
    queue: PeakMean | None = None
    kv_usage_fraction: PeakMean | None = None
    state_usage_fraction: PeakMean | None = None
    new_tokens: int = 0
    cached_tokens: int = 0
    prefill_samples: int = 0
    retractions: int = 0
    retracted_requests: int = 0
    waiting_samples: int = 0
    """Samples with requests in the queue."""
    state_full_samples: int = 0
    """Waiting samples with every state slot in use."""
    kv_full_samples: int = 0
    """Waiting samples with the KV pool as good as full."""
    kv_usage_while_state_full: float | None = None
    """Mean KV use of the samples whose state pool is full."""
    kv_pool_tokens: Interval | None = None
    """From tokens in use over the printed use."""
    state_pool_slots: Interval | None = None
    """From slots in use over the printed use."""

    @property
    def cached_token_fraction(self) -> float | None:
        """Share of prompt tokens that came from the cache; None without prefill lines."""
        prompt = self.new_tokens + self.cached_tokens
        return self.cached_tokens / prompt if prompt else None

    @property
    def binding(self) -> str | None:
        """Which pool was full while requests waited, by most samples."""
        if not self.state_full_samples and not self.kv_full_samples:
            return None
        return "state" if self.state_full_samples >= self.kv_full_samples else "kv"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignReport:
    """What could be read of another engine's log."""

    engine: str
    figures: Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootReport:
    """One start of a server."""

    kind: str
    """`hybrid`, `not_hybrid`, `elastic`, `other_engine` or `not_a_boot`."""
    engine: str | None
    version: str | None = None
    """One release, a range, or None where nothing tells."""
    version_hints: tuple[ReleaseHint, ...] = ()
    hybrid: bool | None = None
    model: str | None = None
    model_class: str | None = None
    launch: Launch | None = None
    launch_command: tuple[str, ...] = ()
    ranks: Mapping[str, RankReport] = field(default_factory=dict)
    cap: RequestCap | None = None
    kv_reduction: KvReduction | None = None
    unified: UnifiedPool | None = None
    elastic: ElasticPool | None = None
    foreign: ForeignReport | None = None
    requested_running_requests: int | None = None
    granted_running_requests: int | None = None
    binding: str | None = None
    """`state`, `kv` or `request_cap`: what stops the next request."""
    binding_reason: str | None = None
    slots_per_request: int | None = None
    slots_per_request_reason: str | None = None
    possible_slots_per_request: tuple[int, ...] = ()
    """What the engine may reserve for one request."""
    errors: tuple[EngineError, ...] = ()
    ready: bool = False
    runtime: RuntimeReport | None = None
    missing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def role(self) -> str | None:
        """`prefill` or `decode` in a split deployment; None elsewhere, or where no line tells."""
        mode = self.launch.values.get("disaggregation_mode") if self.launch else None
        if mode in ("prefill", "decode"):
            return str(mode)
        return "decode" if any(error.id == "decode_state_pool_raised" for error in self.errors) else None

    @property
    def pool_ranks(self) -> tuple[RankReport, ...]:
        """Ranks that carry a pool line."""
        return tuple(rank for rank in self.ranks.values() if rank.state or rank.kv)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a change costs or gives, in requests and tokens."""

    delta_requests: int | None
    delta_kv_tokens: int | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing, with the flag to change."""

    id: str
    severity: str
    """`error`, `warning` or `info`."""
    text: str
    evidence: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """Every start that the given files hold, oldest first, with what follows from the last."""

    boots: tuple[BootReport, ...]
    warnings: tuple[str, ...] = ()

    @property
    def last(self) -> BootReport | None:
        """The start that counts."""
        return self.boots[-1] if self.boots else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedFigure:
    """One printed figure beside what a release's rules give."""

    rank: str
    name: str
    unit: str
    predicted: float
    printed: str
    follows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The start's figures under one release."""

    version: str
    card: str | None = None
    """The card that was taken: named by the user, or the one that explains most."""
    figures: tuple[PredictedFigure, ...] = ()
    refused: str | None = None
    """Why this release would not start, in our words."""
    refused_as_logged: bool = False
    """The log shows the same refusal."""

    @property
    def following(self) -> int:
        """How many printed figures follow."""
        return sum(figure.follows for figure in self.figures)

    @property
    def holds(self) -> bool:
        """Whether every printed figure follows, or the release refuses what the log shows refused."""
        if self.refused is not None:
            return self.refused_as_logged and self.following == len(self.figures)
        return bool(self.figures) and self.following == len(self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMatch:
    """A known model whose slot and row bytes fit the printed pools; many may fit, none is proved."""

    model: str
    tensor_parallel: int
    state_dtype: str
    kv_dtype: str
    state_bytes_per_slot: int
    kv_bytes_per_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """A log report with what was made of its last start."""

    report: LogReport
    findings: tuple[Finding, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    predictions_reason: str | None = None
    """Why nothing was predicted."""
    matches: tuple[CatalogMatch, ...] = ()
    withheld: tuple[str, ...] = ()
    """Findings left out because the printed figures follow from no release's rules."""
    derivation: tuple[Step, ...] = ()
