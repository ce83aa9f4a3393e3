"""What a command line asks of a replay."""

import json

import pytest

from poolsplit.answers.replay_request import replay_request
from poolsplit.errors import InputError, UsageError

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
