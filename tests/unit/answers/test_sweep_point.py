"""One point of a sweep."""

from types import SimpleNamespace

import pytest

from poolsplit.answers import trace_replay
from poolsplit.answers.sweeping.work import run_point
from poolsplit.errors import InputError

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
