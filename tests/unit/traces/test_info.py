"""Facts of small traces, counted by hand."""

import numpy as np
import pytest

from poolsplit.traces.info import describe, lengths
from poolsplit.traces.live_context import live_context_profile
from trace_samples import SAMPLES, WEKA_SESSION, jsonl, read, written


def _facts(tmp_path, name):
    return describe(read(written(tmp_path, "trace", SAMPLES[name].content)))


def test_mooncake(tmp_path):
    facts = _facts(tmp_path, "mooncake")
    assert facts["input_tokens"]["sum"] == 4000
    assert facts["infinite_reuse_fraction"] == (512 + 1500) / 4000
    assert facts["unique_tokens"] == 1000 + 988
    assert facts["unique_blocks"] == 4
    assert facts["span_s"] == 1.5
    assert facts["sessions"] is None
    assert facts["sessions_reason"]
    assert (facts["scope"], facts["block_tokens"]) == ("trace", 512)


def test_percentiles_interpolate_linearly():
    row = lengths(np.array([10, 20, 40, 80]))
    assert (row["p50"], row["p90"], row["mean"], row["max"]) == (30.0, 68.0, 37.5, 80)


def test_sessions(tmp_path):
    facts = describe(read(written(tmp_path, "t", jsonl(WEKA_SESSION, {**WEKA_SESSION, "id": "b"}))))
    assert facts["sessions"] == 2
    assert facts["subagent_requests"] == 4
    assert facts["scope"] == "session"
    assert facts["shared_between_sessions_fraction"] == 0.0
    assert facts["span_s"] is None
    assert facts["session_span_s"]["max"] == 20.0
    assert facts["session_context_tokens"]["max"] == 269
    assert facts["gap_s"]["count"] == 6
    assert facts["gap_s"]["max"] == 10.5
    assert facts["live_context"]["windows"] is None


def test_sharing_between_sessions(tmp_path):
    sessions = [{**WEKA_SESSION, "id": name, "hash_id_scope": "global"} for name in "ab"]
    facts = describe(read(written(tmp_path, "t", jsonl(*sessions))))
    assert facts["shared_between_sessions_fraction"] == pytest.approx((128 + 192 + 64 + 128 + 256) / (2 * 804))


def test_lengths_only_say_why(tmp_path):
    facts = _facts(tmp_path, "azure")
    for name in ("infinite_reuse_fraction", "unique_tokens"):
        assert facts[name] is None
        assert "lengths only" in facts[f"{name}_reason"]


def test_live_contexts(tmp_path):
    """Session s: 3 + 2 tokens from 0 s to its next turn at 2 s, then 6 + 7; session t: 3 + 1 from 3 s."""
    trace = read(written(tmp_path, "t", SAMPLES["token-trace"].content))
    windows = {row["window_s"]: row for row in live_context_profile(trace)["windows"]}
    assert windows[60]["peak_tokens"] == 13 + 4
    assert windows[60]["peak_contexts"] == 2
    assert windows[60]["mean_tokens"] == pytest.approx((2 * 5 + 60 * 13 + 60 * 4) / 63)


def test_unknown_sessions_go_on_where_a_prompt_is_extended(tmp_path):
    rows = [
        {"timestamp": 0, "input_length": 600, "output_length": 10, "hash_ids": [1, 2]},
        {"timestamp": 10_000, "input_length": 1100, "output_length": 10, "hash_ids": [1, 5, 6]},
        {"timestamp": 20_000, "input_length": 600, "output_length": 10, "hash_ids": [7, 8]},
    ]
    windows = live_context_profile(read(written(tmp_path, "t", jsonl(*rows))))["windows"]
    assert windows[0]["peak_tokens"] == 1110 + 610
    assert windows[0]["peak_contexts"] == 2
