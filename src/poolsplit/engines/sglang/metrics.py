"""SGLang's exported series to a reading: which names, what they mean, which rank's copy counts.

Names: `sglang:x` from the server, `sglang_x` through gateways; both are read. Some mislead, and are read for what they
are: `mamba_*_tokens` count slots; `token_usage` is the fullest pool, so the pools' own figures are used; the total of
state slots is no series, it is the sum of used, evictable and available; `cache_hit_rate` is one report old and is not
read, the counters of prefill tokens are.

Source: the collectors of release 0.5.23; `tests/differential/test_metric_names.py` holds names, types and labels.
"""

from __future__ import annotations

import math
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from poolsplit.engines.live_reading import HostTier, PoolUse, RankReading, Reading, TransferQueues

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poolsplit.engines.live_reading import Series

PREFIXES = ("sglang:", "sglang_")

POOLS = {
    "state": ("mamba_used_tokens", "mamba_evictable_tokens", "mamba_available_tokens"),
    "kv": ("kv_used_tokens", "kv_evictable_tokens", "kv_available_tokens"),
    "window_kv": ("swa_used_tokens", "swa_evictable_tokens", "swa_available_tokens"),
}
"""Used, evictable and available of each pool; the first one in slots."""

HOST = (
    "hicache_host_used_tokens",
    "hicache_host_total_tokens",
    "hicache_host_mamba_used_states",
    "hicache_host_mamba_total_states",
)
QUEUES = (
    "num_prefill_bootstrap_queue_reqs",
    "num_prefill_inflight_queue_reqs",
    "num_decode_prealloc_queue_reqs",
    "num_decode_transfer_queue_reqs",
)
SINGLE = (
    "num_running_reqs",
    "num_queue_reqs",
    "decode_sum_seq_lens",
    "max_total_num_tokens",
    "context_len",
    "mamba_usage",
    "full_token_usage",
    "new_token_ratio",
)


class CounterRule(NamedTuple):
    """Which samples of a counter add up to one of our totals."""

    total: str
    name: str
    where: tuple[str, str] | None = None
    """A label and the value it must have."""
    per_rank: bool = True
    """Every rank keeps its own copy, so one rank of a worker is read; else all samples are added up."""


COUNTER_RULES = (
    CounterRule("computed_tokens", "prefill_effective_tokens_total", ("mode", "input")),
    CounterRule("device_hit_tokens", "prefill_effective_tokens_total", ("mode", "device_hit")),
    CounterRule("host_hit_tokens", "prefill_effective_tokens_total", ("mode", "host_hit")),
    CounterRule("storage_hit_tokens", "prefill_effective_tokens_total", ("mode", "storage_hit")),
    CounterRule("prompt_tokens", "prompt_tokens_total", per_rank=False),
    CounterRule("generated_tokens", "generation_tokens_total", per_rank=False),
    CounterRule("finished_requests", "num_requests_total", per_rank=False),
    CounterRule("aborted_requests", "num_aborted_requests_total", per_rank=False),
    CounterRule("retracted_requests", "num_retracted_requests_total"),
    CounterRule("retracted_tokens", "num_retracted_input_tokens_total"),
    CounterRule("retracted_tokens", "num_retracted_output_tokens_total"),
    CounterRule("evicted_tokens", "evicted_tokens_total"),
    CounterRule("loaded_back_tokens", "load_back_tokens_total", ("pool", "kv")),
    CounterRule("loaded_back_states", "load_back_tokens_total", ("pool", "mamba")),
    CounterRule("backed_up_tokens", "hicache_backup_tokens_total", ("pool", "kv")),
    CounterRule("backed_up_states", "hicache_backup_tokens_total", ("pool", "mamba")),
    CounterRule("dropped_tokens", "hicache_dropped_tokens_total", ("pool", "kv")),
    CounterRule("queue_wait_s", "queue_time_seconds_sum"),
    CounterRule("queue_waits", "queue_time_seconds_count"),
)

OLDER_PREFILL_RULES = (
    CounterRule("computed_tokens", "realtime_tokens_total", ("mode", "prefill_compute")),
    CounterRule("device_hit_tokens", "realtime_tokens_total", ("mode", "prefill_cache")),
)
"""For releases before 0.5.18, which have no counter without the re-counts of retracted requests, nor of tiers."""
RECOUNTS = "reuse includes re-counts of retracted requests and does not tell tiers: this release has no other counter"

GAUGE_NAMES = frozenset({*SINGLE, *HOST, *QUEUES}.union(*POOLS.values()))
WANTED = GAUGE_NAMES | {rule.name for rule in (*COUNTER_RULES, *OLDER_PREFILL_RULES)}
"""Names without prefix; every other line of a scrape is skipped before it is parsed."""

ALWAYS_EXPORTED = frozenset(GAUGE_NAMES - set(HOST))
"""Gauges that every scheduler of the release sets, whatever the model."""

REPLICA_LABELS = ("worker_addr", "worker", "instance", "pod")
"""Labels by which gateways and scrapers tell servers apart; the first one present counts."""

_Rank = tuple[str, int, int, int]
"""Replica, data-parallel rank, pipeline rank, tensor-parallel rank."""


def bare_name(name: str) -> str:
    """A series' name without either spelling of the prefix."""
    return name[7:] if name.startswith(PREFIXES) else name


def is_wanted(name: str) -> bool:
    """Whether a series, by its full name, is read at all."""
    return name.startswith(PREFIXES) and name[7:] in WANTED


def read_metrics(series: Iterable[Series]) -> Reading:
    """One scrape's series to gauges per rank and totals per replica."""
    gauges: dict[_Rank, dict[str, float]] = defaultdict(dict)
    named: dict[_Rank, dict[str, str]] = {}
    counted: dict[str, list[tuple[_Rank, Mapping[str, str], float]]] = defaultdict(list)
    for sample in series:
        name, labels = bare_name(sample.name), dict(sample.labels)
        rank = _rank_of(labels)
        if not math.isfinite(sample.value):
            continue
        if name not in GAUGE_NAMES:
            counted[name].append((rank, labels, sample.value))
        elif not labels.get("priority"):  # one priority's share: the total stands under an empty priority
            gauges[rank][name] = sample.value
            named[rank] = labels
    leaders = _leaders(gauges)
    older = "prefill_effective_tokens_total" not in counted and "realtime_tokens_total" in counted
    rules = (*OLDER_PREFILL_RULES, *COUNTER_RULES) if older else COUNTER_RULES
    ranks = tuple(_rank_reading(rank, gauges[rank], named[rank]) for rank in leaders)
    return Reading(
        ranks=ranks,
        worker_counters=_totals(rules, counted, {rank[0] for rank in leaders}),
        missing=_missing(gauges, leaders),
        warnings=(RECOUNTS,) if older else (),
    )


def _rank_of(labels: Mapping[str, str]) -> _Rank:
    replica = next((labels[name] for name in REPLICA_LABELS if labels.get(name)), "")
    data, pipeline, tensor = (_whole(labels.get(name, "")) for name in ("dp_rank", "pp_rank", "tp_rank"))
    return replica, data, pipeline, tensor


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _leaders(ranks: Iterable[_Rank]) -> list[_Rank]:
    """The lowest tensor-parallel rank of every replica, data-parallel rank and pipeline stage."""
    lowest: dict[tuple[str, int, int], _Rank] = {}
    for rank in sorted(ranks):
        lowest.setdefault(rank[:3], rank)
    return list(lowest.values())


def _rank_reading(rank: _Rank, values: Mapping[str, float], labels: Mapping[str, str]) -> RankReading:
    state, kv = _pool(values, "state"), _pool(values, "kv")
    return RankReading(
        replica=rank[0],
        dp_rank=rank[1],
        pp_rank=rank[2],
        model=labels.get("model_name", ""),
        role=labels.get("engine_type", ""),
        state=state if state is not None and state.capacity else None,
        kv=kv,
        window_kv=_filled(_pool(values, "window_kv")),
        host=_host(values),
        queues=_queues(values),
        running=_int(values.get("num_running_reqs")),
        queued=_int(values.get("num_queue_reqs")),
        live_context_tokens=_int(values.get("decode_sum_seq_lens")),
        kv_tokens=_int(values.get("max_total_num_tokens")),
        context_len=_int(values.get("context_len")),
        state_usage_fraction=values.get("mamba_usage", state.used_fraction if state else None),
        kv_usage_fraction=values.get("full_token_usage", kv.used_fraction if kv else None),
        new_token_ratio=values.get("new_token_ratio"),
    )


def _pool(values: Mapping[str, float], pool: str) -> PoolUse | None:
    used, evictable, available = (values.get(name) for name in POOLS[pool])
    if used is None or evictable is None or available is None:
        return None
    return PoolUse(used=int(used), evictable=int(evictable), available=int(available))


def _filled(pool: PoolUse | None) -> PoolUse | None:
    """The pool, unless the server has none: its gauges then stand at zero."""
    return pool if pool is not None and pool.capacity else None


def _host(values: Mapping[str, float]) -> HostTier | None:
    used_tokens, total_tokens, used_states, total_states = (_int(values.get(name)) for name in HOST)
    if used_tokens is None or not total_tokens:
        return None
    return HostTier(
        used_tokens=used_tokens, total_tokens=total_tokens, used_states=used_states, total_states=total_states
    )


def _queues(values: Mapping[str, float]) -> TransferQueues | None:
    counts = [_int(values.get(name)) for name in QUEUES]
    if None in counts:
        return None
    bootstrap, inflight, prealloc, transfer = (count or 0 for count in counts)
    return TransferQueues(
        prefill_bootstrap=bootstrap, prefill_inflight=inflight, decode_prealloc=prealloc, decode_transfer=transfer
    )


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _totals(
    rules: Iterable[CounterRule],
    counted: Mapping[str, list[tuple[_Rank, Mapping[str, str], float]]],
    replicas: Iterable[str],
) -> Mapping[str, Mapping[tuple[str, int], float]]:
    """Totals by replica and worker: one rank a worker where every rank keeps a copy, all samples where none does."""
    totals: dict[str, dict[tuple[str, int], float]] = {replica: {} for replica in replicas}
    only = next(iter(totals)) if len(totals) == 1 else None
    for rule in rules:
        samples = [item for item in counted.get(rule.name, ()) if _matches(item[1], rule.where)]
        if rule.per_rank:
            first_stage = {rank[:2]: rank for rank in reversed(_leaders({item[0] for item in samples}))}
            samples = [item for item in samples if first_stage[item[0][:2]] == item[0]]
        for rank, _, value in samples:
            mine = totals.setdefault(rank[0] if only is None else only, {})
            mine[rule.total, rank[1]] = mine.get((rule.total, rank[1]), 0.0) + value
    return MappingProxyType({replica: MappingProxyType(values) for replica, values in totals.items()})


def _matches(labels: Mapping[str, str], where: tuple[str, str] | None) -> bool:
    return where is None or labels.get(where[0]) == where[1]


def _missing(gauges: Mapping[_Rank, Mapping[str, float]], leaders: Iterable[_Rank]) -> tuple[str, ...]:
    lacking = {name for rank in leaders for name in ALWAYS_EXPORTED - gauges[rank].keys()}
    return tuple(f"{PREFIXES[0]}{name}" for name in sorted(lacking))
