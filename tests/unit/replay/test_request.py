"""What a command line asks of a replay."""

import json

import pytest

from poolsplit.answers.replay_request import replay_request
from poolsplit.errors import InputError, UsageError
from poolsplit.replay.host_pools import HostPools
from poolsplit.replay.unified import UnifiedMemory

UNSET = dict.fromkeys(
    ("plan", "state_slots", "kv_tokens", "strategy", "page_size", "chunked_prefill_size", "track_interval",
     "max_states_per_path", "max_running_requests", "engine_version")
)  # fmt: skip
ORDER = {"mode": "order", "sessions": 1, "prefill_tokens_per_s": None, "decode_tokens_per_s": None,
         "rates_from": None}  # fmt: skip


def ask(pace=None, **split):
    return replay_request({**UNSET, **split}, {**ORDER, **(pace or {})}, "0.5.23")


def test_counts_and_names_reach_the_server():
    request = ask(state_slots=64, kv_tokens="512k", strategy="no_buffer", chunked_prefill_size="8k", page_size=1)
    assert request.server == {
        "state_slots": 64,
        "kv_tokens": 524_288,
        "strategy": "no_buffer",
        "overlap": False,
        "page_tokens": 1,
        "chunk_tokens": 8192,
    }
    assert request.version == "0.5.23"


def test_a_plan_gives_the_pools_and_the_line_wins(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"recommended": {"state_slots": 70, "kv_tokens": 9000, "max_running_requests": 14}}))
    assert ask(plan=str(plan)).server == {"state_slots": 70, "kv_tokens": 9000, "max_running_requests": 14}
    assert ask(plan=str(plan), state_slots=90).server["state_slots"] == 90


PLAN = {
    "recommended": {"state_slots": 70, "kv_tokens": 9000, "max_running_requests": 14},
    "constants": {"state_bytes_per_slot": 1_000_000, "kv_bytes_per_token": 2000.0, "dcp_size": 2},
    "cache": {
        "strategy": "extra_buffer_lazy",
        "page_size": 64,
        "chunked_prefill_size": 4096,
        "track_interval": 512,
        "state_chunk": 128,
        "max_states_per_path": None,
        "hicache_ratio": None,
        "hicache_size": None,
        "hicache_write_policy": None,
    },
}


def plan_file(tmp_path, **cache):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({**PLAN, "cache": {**PLAN["cache"], **cache}}))
    return str(plan)


def test_a_plan_gives_the_options_of_the_cache_and_the_answer_can_say_so(tmp_path):
    path = plan_file(tmp_path)
    request = ask(plan=path, chunked_prefill_size="8k")
    assert request.server == {
        "state_slots": 70,
        "kv_tokens": 9000,
        "max_running_requests": 14,
        "strategy": "extra_buffer_lazy",
        "page_tokens": 64,
        "chunk_tokens": 8192,
        "track_interval_tokens": 512,
        "state_chunk_tokens": 128,
    }
    assert request.origins["page_size"] == f"plan {path}"
    assert request.origins["chunked_prefill_size"] == "command line"
    assert "max_states_per_path" not in request.origins


def test_a_plan_with_a_host_tier_gives_it_and_the_line_wins(tmp_path):
    path = plan_file(tmp_path, hicache_ratio=2.0, hicache_write_policy="write_back")
    assert ask(plan=path).server["host"] == HostPools(kv_tokens=18_000, state_slots=140, write_policy="write_back")
    declared = ask(plan=path, host_state_slots=5, host_kv_tokens="1k").server["host"]
    assert declared == HostPools(kv_tokens=1024, state_slots=5)


def test_bytes_of_a_host_tier_are_shared_by_the_prices_of_a_plan(tmp_path):
    host = ask(plan=plan_file(tmp_path), hicache_size=1.0).server["host"]
    state_share = 71e6 / (71e6 + 9e6)
    assert host.state_slots == int(1e9 * state_share / 1e6)
    assert host.kv_tokens == pytest.approx(1e9 * (1 - state_share) / 1000, abs=1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"hicache_write_policy": "write_back"}, "write policy without a host tier"),
        ({"host_state_slots": 5}, "has no `--host-kv-tokens`"),
        ({"host_kv_tokens": "5k"}, "has no `--host-state-slots`"),
        ({"host_state_slots": 5, "host_kv_tokens": "5k", "hicache_ratio": 2.0}, "has two sizes"),
        ({"hicache_size": 5.0, "hicache_ratio": 2.0}, "has two sizes"),
        ({"hicache_size": 5.0}, "not known without prices"),
        ({"hicache_ratio": -1.0}, "keeps nothing"),
        ({"hicache_ratio": float("nan")}, "keeps nothing"),
        ({"hicache_ratio": float("inf")}, "keeps nothing"),
    ],
)
def test_a_host_tier_that_is_none_is_refused(words, message):
    with pytest.raises((InputError, UsageError), match=message):
        ask(state_slots=64, kv_tokens="100k", **words)


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"recommended": 5}'])
def test_what_is_no_plan(tmp_path, text):
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    with pytest.raises(InputError, match="not a plan"):
        ask(plan=str(plan))


def test_both_pools_are_needed():
    with pytest.raises(UsageError, match="--kv-tokens"):
        ask(state_slots=64)


def test_rates_by_running_requests():
    pools = {"state_slots": 64, "kv_tokens": "100k"}
    assert ask({"decode_tokens_per_s": "60"}, **pools).pace["decode_tokens_per_s"] == ((1, 60.0),)
    assert ask({"decode_tokens_per_s": "1:80,32:45"}, **pools).pace["decode_tokens_per_s"] == ((1, 80.0), (32, 45.0))
    with pytest.raises(InputError, match="decode rate"):
        ask({"decode_tokens_per_s": "fast"}, **pools)


@pytest.mark.parametrize("text", ["-1", "abc", "", "1.5"])
@pytest.mark.parametrize("word", ["kv_tokens", "chunked_prefill_size", "track_interval", "state_chunk"])
def test_a_count_that_is_none_is_refused(word, text):
    with pytest.raises(InputError, match="not a whole number"):
        ask(**{"state_slots": 64, "kv_tokens": "100k", word: text})


def test_the_state_chunk_reaches_the_server():
    assert ask(state_slots=64, kv_tokens="100k", state_chunk="256").server["state_chunk_tokens"] == 256


def test_unified_memory_takes_its_prices_from_the_line_or_from_a_plan(tmp_path):
    pools = {"state_slots": 64, "kv_tokens": "100k", "enable_unified_memory": True}
    assert ask(**pools, state_bytes=5000, kv_bytes=24.0).server["unified"] == UnifiedMemory(
        slot_bytes=5000, token_bytes=24
    )
    assert ask(plan=plan_file(tmp_path, enable_unified_memory=True)).server["unified"] == UnifiedMemory(
        slot_bytes=1_000_000, token_bytes=1000
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"state_bytes": 5000}, "of use with unified memory only"),
        ({"enable_unified_memory": True, "state_bytes": 5000}, "needs the bytes"),
        ({"enable_unified_memory": True, "state_bytes": 5000, "kv_bytes": 1.5}, "takes 1.5 bytes"),
    ],
)
def test_unified_memory_without_whole_prices_is_refused(words, message):
    with pytest.raises((InputError, UsageError), match=message):
        ask(state_slots=64, kv_tokens="100k", **words)
