"""Run by an interpreter that has the engine: drives its own collectors and prints what they register and export.

Prints one JSON object: `families` (name, type and labels of every series registered) and `page` (the exposition text
after known values were logged), for one plain rank and with data-parallel and priority labels.
"""

import contextlib
import json
import sys
import warnings


def main() -> None:
    warnings.filterwarnings("ignore")
    with contextlib.suppress(ImportError):
        import stubs  # stand-ins for packages that need a GPU, when the path has them

        stubs.install()
    import prometheus_client
    from sglang.srt.observability import metrics_collector as collectors
    from sglang.srt.runtime_context import get_context
    from sglang.version import __version__

    prometheus_client.disable_created_metrics()
    with get_context().override_server_args():
        pages = {}
        families: dict[str, tuple[str, list[str]]] = {}
        for case, labels in CASES.items():
            registry = _fresh_registry(prometheus_client)
            _drive(collectors, labels)
            pages[case] = prometheus_client.generate_latest(registry).decode()
            for collector in list(registry._collector_to_names):
                name = getattr(collector, "_name", None)
                if name:
                    kind = collector._type
                    families[name + ("_total" if kind == "counter" else "")] = (kind, list(collector._labelnames))
    json.dump({"version": __version__, "families": families, "pages": pages}, sys.stdout)


PLAIN = {"model_name": "m", "engine_type": "unified", "tp_rank": 0, "pp_rank": 0, "moe_ep_rank": 0}
CASES = {"plain": PLAIN, "priority": {**PLAIN, "priority": "", "dp_rank": 1}}


def _fresh_registry(prometheus_client):
    """The collectors register in the default registry, so each case empties it."""
    registry = prometheus_client.REGISTRY
    for collector in list(registry._collector_to_names):
        registry.unregister(collector)
    return registry


def _drive(collectors, labels) -> None:
    scheduler = collectors.SchedulerMetricsCollector(labels=labels, server_args=None, enable_hierarchical_cache=True)
    by_priority = {3: 5, 7: 16} if "priority" in labels else None
    stats = collectors.SchedulerStats(
        num_running_reqs=collectors.QueueCount(total=21, by_priority=by_priority),
        num_queue_reqs=collectors.QueueCount(total=4),
        decode_sum_seq_lens=172_032,
        token_usage=0.98,
        full_token_usage=0.25,
        mamba_usage=0.98,
        kv_available_tokens=400,
        kv_evictable_tokens=350,
        kv_used_tokens=250,
        mamba_available_tokens=2,
        mamba_evictable_tokens=1,
        mamba_used_tokens=97,
        new_token_ratio=0.4,
        hicache_host_used_tokens=10,
        hicache_host_total_tokens=2000,
        hicache_host_mamba_used_states=200,
        hicache_host_mamba_total_states=200,
    )
    scheduler.log_stats(stats)
    scheduler.emit_constants(
        max_total_num_tokens=1000,
        max_total_num_tokens_swa=None,
        weight_memory_usage_gb=30.5,
        kv_cache_memory_usage_gb=2.0,
        graph_memory_usage_gb={"decode": 1.0},
        max_running_requests_under_SLO=None,
        page_size=1,
        num_pages=1000,
        context_len=262_144,
        startup_available_gpu_memory_gb=5.0,
    )
    scheduler.increment_effective_prefill_tokens(1000, 700, 200, 100)
    scheduler.increment_retracted_reqs(3, 300, 30)
    scheduler.observe_queue_time(1.5)
    tokenizer_labels = {name: labels[name] for name in ("model_name", "engine_type", "priority") if name in labels}
    tokenizer = collectors.TokenizerMetricsCollector(labels=tokenizer_labels)
    for streaming in (True, False):
        given = {**tokenizer_labels, **({"priority": "3"} if "priority" in labels else {})}
        tokenizer.observe_one_finished_request(given, 900, 100, 450, 2.0, False, {"device": 450}, 0, streaming)
    tokenizer.observe_one_aborted_request(tokenizer_labels)
    cache = collectors.RadixCacheMetricsCollector(
        {"cache_type": "c", "tp_rank": 0, "pp_rank": 0, "dp_rank": labels.get("dp_rank", 0)}
    )
    cache.increment_eviction_num_tokens(5000)
    cache.increment_load_back_num_tokens(64, "kv")
    cache.increment_load_back_num_tokens(2, "mamba")
    cache.increment_backup_num_tokens(640, "kv")
    cache.increment_dropped_tokens(8, "host_pressure", "kv")


if __name__ == "__main__":
    main()
