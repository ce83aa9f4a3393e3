"""SGLang's series to recorded ones, as expressions of a monitoring server.

The same readings as `metrics`: slots are slots, pools apart from each other, counters as rates, one copy a rank. Every
tensor-parallel rank may export its own copy of a gauge, so the largest of them stands for the rank; a total under
priority scheduling stands under an empty priority, which an absent label matches too.

Source: `tests/e2e/test_dashboard.py` runs every expression on a real server that scrapes a real exporter.
"""

from __future__ import annotations

from poolsplit.engines.recorded_series import SPAN, RecordedSeries
from poolsplit.engines.sglang.metrics import POOLS, QUEUES

RANK = "job, instance, model_name, dp_rank, pp_rank"
SERVER = "job, instance, model_name"
_UNITS = {"state": "slots", "kv": "tokens"}
_PARTS = ("used", "evictable", "available")
_HITS = "device_hit|host_hit|storage_hit"


def recorded_series(prefix: str) -> tuple[RecordedSeries, ...]:
    """All recorded series, each before those that are made of it.

    Args:
        prefix: `sglang:`, or `sglang_` behind a gateway.
    """
    return (*_requests(prefix), *_pools(prefix), *_traffic(prefix), *_host(prefix))


def _requests(prefix: str) -> tuple[RecordedSeries, ...]:
    running, queued, live = (
        f"max by ({RANK}) ({prefix}{name}{{priority=''}})"
        for name in ("num_running_reqs", "num_queue_reqs", "decode_sum_seq_lens")
    )
    waiting = " + ".join(f"max by ({RANK}) ({prefix}{name}{{priority=''}})" for name in QUEUES)
    return (
        _series("running_requests", running, "requests", "requests that run"),
        _series("queued_requests", queued, "requests", "requests that wait"),
        _series(
            "mean_context_tokens",
            f"{live} / ({running} > 0)",
            "tokens",
            "mean context of a running request",
        ),
        _series("transfer_requests", waiting, "requests", "requests between prefill and decode"),
    )


def _pools(prefix: str) -> tuple[RecordedSeries, ...]:
    rows = f"max by ({RANK}) ({prefix}max_total_num_tokens)"
    found = [_series("kv_tokens", rows, "tokens", "KV rows of a rank")]
    for pool, unit in _UNITS.items():
        names = dict(zip(_PARTS, POOLS[pool], strict=True))
        for part, name in names.items():
            gauge = f"max by ({RANK}) ({prefix}{name})"
            found.append(_series(f"{pool}_{unit}_{part}", gauge, unit, f"{unit} of the {pool} pool: {part}"))
        used, kept, free = (f"poolsplit:{pool}_{unit}_{part}" for part in _PARTS)
        whole = f"poolsplit:{pool}_capacity"
        spare = f"({kept} + {free}) / {whole}"
        found += [
            _series(f"{pool}_capacity", f"({used} + {kept} + {free}) > 0", unit, f"all {unit} of the {pool} pool"),
            _series(f"{pool}_used_fraction", f"{used} / {whole}", "fraction", "cannot be taken back"),
            _series(f"{pool}_reclaimable_fraction", spare, "fraction", "what a new request can get"),
        ]
    return tuple(found)


def _traffic(prefix: str) -> tuple[RecordedSeries, ...]:
    prefill = f"rate({prefix}prefill_effective_tokens_total[{SPAN}])"
    hits = f'rate({prefix}prefill_effective_tokens_total{{mode=~"{_HITS}"}}[{SPAN}])'
    prompt, generated = (
        f"sum by ({SERVER}) (rate({prefix}{kind}_tokens_total[{SPAN}]))" for kind in ("prompt", "generation")
    )
    finished = f"sum by ({SERVER}) (rate({prefix}num_requests_total[{SPAN}]))"
    retracted = f"sum by ({SERVER}) (max by ({RANK}) (rate({prefix}num_retracted_requests_total[{SPAN}])))"
    whole = f"(sum by ({SERVER}) (max by ({RANK}, mode) ({prefill})) > 0)"
    return (
        _series(
            "cached_fraction",
            f"sum by ({SERVER}) (max by ({RANK}, mode) ({hits})) / {whole}",
            "fraction",
            "share of the prompt tokens that came from the cache",
        ),
        _series(
            "cached_fraction_by_tier",
            f"sum by ({SERVER}, mode) (max by ({RANK}, mode) ({hits})) / on ({SERVER}) group_left () {whole}",
            "fraction",
            "the same by tier",
        ),
        _series("finished_requests", finished, "per second", "requests that finish"),
        _series(
            "mean_request_tokens",
            f"({prompt} + {generated}) / ({finished} > 0)",
            "tokens",
            "input and output of a mean request",
        ),
        _series("retracted_requests", retracted, "per second", "running requests thrown back"),
    )


def _host(prefix: str) -> tuple[RecordedSeries, ...]:
    used = "hicache_host_mamba_used_states", "hicache_host_used_tokens"
    whole = "hicache_host_mamba_total_states", "hicache_host_total_tokens"
    states, tokens = (
        f"max by ({RANK}) ({prefix}{part}) / (max by ({RANK}) ({prefix}{all_of_it}) > 0)"
        for part, all_of_it in zip(used, whole, strict=True)
    )
    return (
        _series("host_states_fraction", states, "fraction", "states kept on the host, of those it can keep"),
        _series("host_tokens_fraction", tokens, "fraction", "KV rows kept on the host, of those it can keep"),
    )


def _series(name: str, expression: str, unit: str, meaning: str) -> RecordedSeries:
    return RecordedSeries(name=f"poolsplit:{name}", expression=expression, unit=unit, meaning=meaning)
