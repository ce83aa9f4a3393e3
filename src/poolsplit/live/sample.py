"""One server at one moment: gauges of its ranks put together, counters as what happened since the look before."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from poolsplit.engines.live_reading import nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from poolsplit.engines.live_reading import PoolUse, RankReading, ServerFacts

Binding = Literal["state", "kv", "request_cap"]
Span = Literal["since_start", "interval"]

TIERS = ("device", "host", "storage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What was served in a span of time, from counters. A mean without requests is None."""

    counts: Mapping[str, float] = field(default_factory=nothing)

    def count(self, name: str) -> int:
        """A counter's increase; 0 when the server does not have it."""
        return round(self.counts.get(name, 0.0))

    @property
    def prefill_tokens(self) -> int:
        """Prompt tokens admitted, computed and reused."""
        return self.count("computed_tokens") + sum(self.count(f"{tier}_hit_tokens") for tier in TIERS)

    @property
    def cached_fraction(self) -> float | None:
        """Share of the prompt tokens that came from the cache, any tier; re-counts of retracted requests left out."""
        return self._share(sum(self.count(f"{tier}_hit_tokens") for tier in TIERS))

    def tier_fraction(self, tier: str) -> float | None:
        """The share that came from one tier: device, host or storage."""
        return self._share(self.count(f"{tier}_hit_tokens"))

    @property
    def mean_request_tokens(self) -> float | None:
        """Mean input and output of the requests that finished."""
        finished = self.count("finished_requests")
        if not finished or "prompt_tokens" not in self.counts:
            return None
        return (self.count("prompt_tokens") + self.count("generated_tokens")) / finished

    @property
    def mean_queue_wait_s(self) -> float | None:
        """Mean time in the queue of the requests that left it."""
        waits = self.counts.get("queue_waits", 0.0)
        return self.counts.get("queue_wait_s", 0.0) / waits if waits else None

    def plus(self, other: Traffic) -> Traffic:
        """Both spans together."""
        names = {*self.counts, *other.counts}
        added = {name: self.counts.get(name, 0.0) + other.counts.get(name, 0.0) for name in names}
        return Traffic(counts=MappingProxyType(added))

    def _share(self, tokens: int) -> float | None:
        whole = self.prefill_tokens
        return tokens / whole if whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSample:
    """One replica of one server at one moment."""

    server: str
    replica: str = ""
    time_s: float
    """Seconds since 1970."""
    ranks: tuple[RankReading, ...]
    span: Span
    """What the traffic covers: since the server started, for the first look, or since the look before."""
    elapsed_s: float | None
    traffic: Traffic
    facts: ServerFacts | None = None
    restarted: bool = False
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Server and replica, for people."""
        return f"{self.server} {self.replica}".strip()

    @property
    def running(self) -> int | None:
        """Running requests of all data-parallel workers."""
        return self._over_workers(lambda rank: rank.running)

    @property
    def queued(self) -> int | None:
        """Waiting requests of all data-parallel workers."""
        return self._over_workers(lambda rank: rank.queued)

    @property
    def live_context_tokens(self) -> int | None:
        """Context of all running requests together."""
        return self._over_workers(lambda rank: rank.live_context_tokens)

    @property
    def mean_context_tokens(self) -> float | None:
        """Mean context of a running request; None when none runs."""
        tokens, running = self.live_context_tokens, self.running
        return tokens / running if tokens is not None and running else None

    @property
    def state_usage_fraction(self) -> float | None:
        """Share of the state slots that cannot be taken back, on the fullest rank."""
        return _highest(rank.state_usage_fraction for rank in self.ranks if rank.state is not None)

    @property
    def kv_usage_fraction(self) -> float | None:
        """Share of the KV rows that cannot be taken back, on the fullest rank."""
        return _highest(rank.kv_usage_fraction for rank in self.ranks)

    @property
    def tightest_state(self) -> RankReading | None:
        """The rank whose state pool has the least to give."""
        return _tightest((rank for rank in self.ranks if rank.state), lambda rank: rank.state)

    @property
    def tightest_kv(self) -> RankReading | None:
        """The rank whose KV pool has the least to give."""
        return _tightest((rank for rank in self.ranks if rank.kv), lambda rank: rank.kv)

    @property
    def state_slots(self) -> int | None:
        """Usable slots a rank: the sum of the gauges, for there is none of the total; the smallest rank counts."""
        return min((rank.state.capacity for rank in self.ranks if rank.state), default=None)

    @property
    def kv_tokens(self) -> int | None:
        """KV rows a rank; the smallest rank counts."""
        return min((rank.kv_tokens for rank in self.ranks if rank.kv_tokens), default=None)

    @property
    def workers(self) -> int:
        """Data-parallel workers that were seen."""
        return len({rank.dp_rank for rank in self.ranks})

    @property
    def first_stages(self) -> tuple[RankReading, ...]:
        """One rank a worker: its first pipeline stage."""
        first: dict[int, RankReading] = {}
        for rank in self.ranks:
            first.setdefault(rank.dp_rank, rank)
        return tuple(first.values())

    @property
    def stages_by_worker(self) -> tuple[tuple[RankReading, ...], ...]:
        """The pipeline stages of every data-parallel worker."""
        workers: dict[int, list[RankReading]] = {}
        for rank in self.ranks:
            workers.setdefault(rank.dp_rank, []).append(rank)
        return tuple(tuple(stages) for stages in workers.values())

    def _over_workers(self, value: Callable[[RankReading], int | None]) -> int | None:
        """The sum; None when one worker does not say, for a part is not the whole."""
        values = [value(rank) for rank in self.first_stages]
        known = [found for found in values if found is not None]
        return sum(known) if known and len(known) == len(values) else None


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _tightest(ranks: Iterable[RankReading], pool: Callable[[RankReading], PoolUse | None]) -> RankReading | None:
    def spare(rank: RankReading) -> float:
        use = pool(rank)
        return (use.available + use.evictable) / use.capacity if use is not None and use.capacity else 1.0

    return min(ranks, key=spare, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What stops the next request, and why that is known."""

    binding: Binding | None
    reason: str


def what_stops(sample: LiveSample, *, kv_full_fraction: float = 0.95) -> Stop:
    """Which limit keeps queued requests from running, on a worker that has them.

    Source: admission needs a free request row under the cap, the slots of one request, and KV rows for its prefill.

    Known error:
        Between two admissions the gauges may show room for one request that is just being admitted; a server that
        waits for its prefill chunk, a grammar or a scheduling policy has no binding pool, and None is answered.
    """
    waiting = {rank.dp_rank for rank in sample.first_stages if rank.queued}
    if not waiting:
        return Stop(binding=None, reason="nothing waits")
    ranks = [rank for rank in sample.ranks if rank.dp_rank in waiting]
    facts, slots_needed = sample.facts, (sample.facts.slots_per_request if sample.facts else None) or 1
    for rank in ranks:
        if rank.state is not None and rank.state.available + rank.state.evictable < slots_needed:
            return Stop(binding="state", reason=f"{rank.label} has fewer free or kept slots than one request reserves")
    granted = min(facts.granted_per_worker, default=None) if facts else None
    if granted is not None and any((rank.running or 0) >= granted for rank in sample.first_stages if rank.queued):
        return _cap_stop(facts, granted)
    for rank in ranks:
        if rank.kv is not None and (rank.kv.used_fraction or 0.0) >= kv_full_fraction:
            reason = f"{rank.label} has less than {1 - kv_full_fraction:.0%} of its KV rows to give"
            return Stop(binding="kv", reason=reason)
    if granted is None:
        return Stop(binding=None, reason="requests wait, and the server does not tell its request cap")
    return Stop(binding=None, reason="requests wait although both pools have room and the request cap is not reached")


def _cap_stop(facts: ServerFacts | None, granted: int) -> Stop:
    """The granted limit stops admission; it stands in for the pool it was computed from."""
    limits = facts.limits if facts else {}
    for pool in ("state", "kv"):
        if limits.get(pool) == granted and limits.get("request_cap") != granted:
            return Stop(binding=pool, reason=f"the limit of {granted} requests is what the {pool} pool holds")
    return Stop(binding="request_cap", reason=f"{granted} requests run, as the launch allows")
