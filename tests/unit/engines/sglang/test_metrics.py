"""What the engine's series mean: ranks, copies, priorities, gateways' spelling, and what is missing."""

import pytest

from live_server import Engine
from poolsplit.engines.live_reading import COUNTERS, HostTier, PoolUse, TransferQueues, over_workers
from poolsplit.engines.sglang.metrics import COUNTER_RULES, RECOUNTS, bare_name, is_wanted, read_metrics
from poolsplit.live.exposition import ExpositionReader


def read(text):
    return read_metrics(ExpositionReader(is_wanted).read(text))


def totals(reading, replica=""):
    return over_workers(reading.worker_counters[replica])


def test_the_pools_are_read_as_used_evictable_and_available():
    (rank,) = read(Engine(state=(97, 1, 2), kv=(250, 350, 400)).page()).ranks
    assert rank.state == PoolUse(used=97, evictable=1, available=2)
    assert rank.state.capacity == 100
    assert rank.state.used_fraction == 0.97
    assert rank.kv == PoolUse(used=250, evictable=350, available=400)


def test_a_server_without_state_layers_has_no_state_pool():
    (rank,) = read(Engine(state=(0, 0, 0)).page()).ranks
    assert rank.state is None
    assert rank.window_kv is None


@pytest.mark.parametrize("spelling", ["sglang:", "sglang_"])
def test_both_spellings_are_read(spelling):
    (rank,) = read(Engine(running=7).page(spelling)).ranks
    assert rank.running == 7


@pytest.mark.parametrize("name", ["other:num_running_reqs", "num_running_reqs", "sglang:cache_hit_rate", "sglang:x"])
def test_other_series_are_not_read(name):
    assert not is_wanted(name)


def test_a_bare_name_stays():
    assert bare_name("num_running_reqs") == "num_running_reqs"


def test_one_rank_of_a_worker_counts_when_every_rank_reports():
    reading = read(Engine(tp_ranks=(0, 1, 2, 3), running=7, counters={"evicted_tokens_total": 50}).page())
    assert [rank.running for rank in reading.ranks] == [7]
    assert totals(reading)["evicted_tokens"] == 50


def test_workers_and_stages_are_told_apart():
    engine = Engine(dp_ranks=(0, 1), pp_ranks=(0, 1), dp_labels=True)
    engine.add("prefill_effective_tokens_total{mode=input}", 100)
    reading = read(engine.page())
    assert [rank.label for rank in reading.ranks] == ["DP0 PP0", "DP0 PP1", "DP1 PP0", "DP1 PP1"]
    assert totals(reading)["computed_tokens"] == 200


def test_requests_of_all_priorities_and_kinds_are_added_up():
    engine = Engine()
    for kind in ("is_streaming=true", "is_streaming=false", "is_streaming=true,priority=7"):
        engine.add(f"num_requests_total{{{kind}}}", 5)
    assert totals(read(engine.page()))["finished_requests"] == 15


def test_one_priority_is_not_taken_for_the_total():
    share = 'sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0",priority="3"} 2\n'
    (rank,) = read(Engine(running=9).page() + share).ranks
    assert rank.running == 9


def test_replicas_behind_a_gateway_are_told_apart():
    first = Engine(running=3, extra_labels={"worker_addr": "http://a"}, counters={"num_requests_total": 4})
    second = Engine(running=5, extra_labels={"worker_addr": "http://b"}, counters={"num_requests_total": 6})
    reading = read(first.page("sglang_") + second.page("sglang_"))
    assert {rank.replica: rank.running for rank in reading.ranks} == {"http://a": 3, "http://b": 5}
    assert totals(reading, "http://b")["finished_requests"] == 6


def test_counters_without_the_label_of_the_only_replica_belong_to_it():
    engine = Engine(extra_labels={"pod": "p0"}, counters={"evicted_tokens_total": 50})
    reading = read(engine.page())
    assert set(reading.worker_counters) == {"p0"}
    assert totals(reading, "p0")["evicted_tokens"] == 50


def test_the_host_tier_and_the_other_side_are_read():
    (rank,) = read(Engine(host=(10, 2000, 190, 200), queues=(1, 2, 3, 4)).page()).ranks
    assert rank.host == HostTier(used_tokens=10, total_tokens=2000, used_states=190, total_states=200)
    assert rank.queues == TransferQueues(prefill_bootstrap=1, prefill_inflight=2, decode_prealloc=3, decode_transfer=4)
    assert rank.queues.total == 10


def test_missing_series_are_named_and_the_rest_is_read():
    hidden = frozenset({"mamba_evictable_tokens", "num_queue_reqs", "num_decode_transfer_queue_reqs"})
    reading = read(Engine().page(hidden=hidden))
    (rank,) = reading.ranks
    assert set(reading.missing) == {f"sglang:{name}" for name in hidden}
    assert (rank.state, rank.queued, rank.queues) == (None, None, None)
    assert rank.running == 20


def test_values_that_are_no_numbers_are_left_out():
    page = Engine(live_context=0).page().replace("} 0.4\n", "} NaN\n")
    (rank,) = read(page).ranks
    assert rank.new_token_ratio is None


def test_an_older_release_counts_prefill_tokens_its_own_way():
    counters = {"realtime_tokens_total{mode=prefill_compute}": 60, "realtime_tokens_total{mode=prefill_cache}": 40}
    page = Engine(counters=counters).page(hidden=frozenset({"prefill_effective_tokens_total"}))
    reading = read(page)
    assert totals(reading)["computed_tokens"] == 60
    assert totals(reading)["device_hit_tokens"] == 40
    assert reading.warnings == (RECOUNTS,)


def test_an_empty_page_has_no_ranks():
    reading = read("")
    assert reading.ranks == ()
    assert reading.missing == ()


def test_a_missing_usage_gauge_follows_from_its_pool():
    page = Engine(state=(60, 30, 10), kv=(250, 250, 500)).page(hidden=frozenset({"mamba_usage", "full_token_usage"}))
    (rank,) = read(page).ranks
    assert (rank.state_usage_fraction, rank.kv_usage_fraction) == (0.6, 0.25)


def test_every_total_is_one_of_our_words():
    assert {rule.total for rule in COUNTER_RULES} == set(COUNTERS)
