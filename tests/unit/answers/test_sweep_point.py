"""One point of a sweep."""

from types import SimpleNamespace

import pytest

from poolsplit.answers import trace_replay
from poolsplit.answers.sweeping.work import run_point
from poolsplit.errors import InputError, UsageError

POINT = {"trace": "synth:chat:requests=40", "kv_tokens": 1 << 20, "state_slots": 100, "replay": "scheduler"}


def test_half_a_replay_by_the_scheduler_is_no_point(monkeypatch):
    whole = run_point(POINT)
    assert whole["requests"] == 40
    assert 0 < whole["cached_tokens"] < whole["input_tokens"]
    cut = SimpleNamespace(summary=SimpleNamespace(interrupted=True, cached_tokens=5))
    monkeypatch.setattr(trace_replay, "replay_of", lambda *_, **__: cut)
    with pytest.raises(KeyboardInterrupt):
        run_point(POINT)


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ratio_is_above_zero_and_ends(ratio):
    bytes_of = {"budget_bytes": 1 << 30, "state_bytes": 1_000_000, "kv_bytes": 1000.0}
    with pytest.raises(InputError, match="ratio of states to KV"):
        run_point({"trace": "synth:chat:requests=40", "state_to_kv_ratio": ratio, **bytes_of})


@pytest.mark.parametrize("slots", [0, 1, 4])
def test_a_split_that_serves_nobody_is_the_same_to_both_replays(slots):
    ordered, scheduler = (run_point({**POINT, "state_slots": slots, "replay": how}) for how in ("ordered", "scheduler"))
    assert ordered == scheduler
    assert ordered["cached_tokens"] is None
    assert ordered["cached_tokens_reason"] == "what runs at once does not fit: state"


TIGHT = {**POINT, "kv_tokens": 8000, "state_slots": 10}


def test_a_host_ratio_is_an_axis_and_0_is_no_tier():
    without, none, four = (
        run_point({**TIGHT, **extra}) for extra in ({}, {"hicache_ratio": 0.0}, {"hicache_ratio": 4.0})
    )
    assert none == without
    assert four["cached_tokens"] > without["cached_tokens"]
    assert (four["host_state_slots"], four["host_kv_tokens"]) == (40, 32_000)
    assert four["host_loaded_tokens"] > 0
    assert "not verified" in four["host_not_verified"]


def test_the_ordered_replay_has_no_host_tier():
    with pytest.raises(UsageError, match="no host tier"):
        run_point({**TIGHT, "hicache_ratio": 4.0, "replay": "ordered"})
