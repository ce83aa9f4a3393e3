"""Names, types, labels and meaning of the exported series, against the engine's own collectors."""

import json

import pytest

from engine_python import engine_version, run_in_engine
from live_server import PREFIX, SERIES
from poolsplit.engines.live_reading import HostTier, PoolUse, over_workers
from poolsplit.engines.sglang.metrics import ALWAYS_EXPORTED, WANTED, is_wanted, read_metrics
from poolsplit.live.exposition import ExpositionReader

RANK_LABELS = {"dp_rank", "priority"}
"""Labels that a launch adds to every series of a rank."""


@pytest.fixture(scope="module")
def engine():
    """What the collectors register, and pages that they export after known values were logged."""
    return json.loads(run_in_engine("dump_metrics.py"))


def reading_of(page):
    return read_metrics(ExpositionReader(is_wanted).read(page))


def test_the_committed_series_are_those_of_the_collectors(engine):
    if engine_version() != "0.5.23":
        pytest.skip("the committed series are those of 0.5.23")
    theirs = {name: (kind, set(labels) - RANK_LABELS) for name, (kind, labels) in engine["families"].items()}
    ours = {name: (facts["type"], set(facts["labels"]) - RANK_LABELS) for name, facts in SERIES.items()}
    assert ours == theirs


def test_every_series_that_is_read_is_registered(engine):
    registered = set(engine["families"])
    registered |= {
        f"{name}{end}"
        for name, (kind, _) in engine["families"].items()
        for end in ("_sum", "_count")
        if kind == "histogram"
    }
    assert {f"{PREFIX}{name}" for name in WANTED} <= registered


@pytest.mark.parametrize("name", ["plain", "priority"])
def test_a_page_of_the_collectors_is_read_as_it_was_logged(engine, name):
    reading = reading_of(engine["pages"][name])
    (rank,) = reading.ranks
    assert (rank.running, rank.queued, rank.live_context_tokens) == (21, 4, 172_032)
    assert rank.state == PoolUse(used=97, evictable=1, available=2)
    assert rank.kv == PoolUse(used=250, evictable=350, available=400)
    assert rank.window_kv is None
    assert rank.host == HostTier(used_tokens=10, total_tokens=2000, used_states=200, total_states=200)
    assert (rank.state_usage_fraction, rank.kv_usage_fraction, rank.new_token_ratio) == (0.98, 0.25, 0.4)
    assert (rank.kv_tokens, rank.context_len, rank.model, rank.role) == (1000, 262_144, "m", "unified")
    assert rank.dp_rank == (1 if name == "priority" else 0)
    assert reading.missing == ()
    assert dict(over_workers(reading.worker_counters[""])) == {
        "computed_tokens": 1000,
        "device_hit_tokens": 700,
        "host_hit_tokens": 200,
        "storage_hit_tokens": 100,
        "prompt_tokens": 1800,
        "generated_tokens": 200,
        "finished_requests": 2,
        "aborted_requests": 1,
        "retracted_requests": 3,
        "retracted_tokens": 330,
        "evicted_tokens": 5000,
        "loaded_back_tokens": 64,
        "loaded_back_states": 2,
        "backed_up_tokens": 640,
        "dropped_tokens": 8,
        "queue_wait_s": 1.5,
        "queue_waits": 1,
    }


def test_gauges_that_count_as_missing_are_exported_at_once(engine):
    exported = {line.partition("{")[0].removeprefix(PREFIX) for line in engine["pages"]["plain"].splitlines()}
    assert exported >= ALWAYS_EXPORTED
