"""Facts of a start-up from the info and loads answers."""

import json

import pytest

from live_server import Engine
from poolsplit.engines.sglang.pool_constants import asked_again
from poolsplit.engines.sglang.server_info import read_loads, read_server_info, trim_server_info
from poolsplit.errors import InputError
from support import GOLDEN

ROWS = [json.loads(line) for line in (GOLDEN / "live" / "server_info.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[row["case"]["model"] for row in ROWS])
def test_what_was_solved_is_read_and_not_what_was_asked(row):
    facts, solved = read_server_info(row["info"]), row["solved"]
    assert facts.state_slots == solved["max_mamba_cache_size"]
    assert facts.kv_tokens == solved["max_total_num_tokens"]
    assert facts.slots_per_request == solved["mamba_ratio"]
    assert set(facts.granted_per_worker) == {solved["max_running_requests"]}
    assert facts.requested_running_requests == row["case"]["args"].get("max_running_requests")


def test_kv_bytes_are_read_in_binary_gigabytes():
    facts = read_server_info(ROWS[0]["info"])
    assert facts.kv_pool_bytes / facts.kv_tokens == pytest.approx(32_768, rel=1e-4)


def test_workers_of_attention_data_parallelism_share_the_request_limit():
    facts = read_server_info(ROWS[1]["info"])
    assert (facts.dp_workers, facts.granted_per_worker, facts.granted_running_requests) == (2, (32, 32), 64)
    assert asked_again(facts).attn_dp_size == 2


def test_an_older_release_keeps_the_width_in_the_general_size():
    info = {**Engine().server_info(), "dp_size": 4, "enable_dp_attention": True}
    del info["attn_dp_size"]
    facts = read_server_info(info)
    assert facts.dp_workers == 4
    assert asked_again(facts).dp_size == 4


@pytest.mark.parametrize(
    ("changes", "slots"),
    [
        ({}, 5),
        ({"disable_overlap_schedule": True}, 4),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy"}, 4),
        ({"mamba_radix_cache_strategy": "no_buffer"}, 3),
        ({"disable_radix_cache": True, "mamba_radix_cache_strategy": "auto"}, 1),
        ({"mamba_radix_cache_strategy": "auto"}, None),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy", "disable_overlap_schedule": True}, None),
    ],
)
def test_slots_of_a_request_follow_the_resolved_strategy(changes, slots):
    assert read_server_info(Engine(info=changes).server_info()).slots_per_request == slots


def test_the_unlocked_decode_saves_a_slot_where_the_server_shows_its_variables():
    info = Engine().server_info()
    info["internal_states"][0]["env_vars"] = {"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"}
    assert read_server_info(info).slots_per_request == 4


@pytest.mark.parametrize("row", ROWS, ids=[row["case"]["model"] for row in ROWS])
def test_limits_give_what_was_granted(row):
    facts = read_server_info(row["info"])
    assert facts.expected_per_worker == row["solved"]["max_running_requests"]
    assert facts.limits["state"] == row["solved"]["max_mamba_cache_size"] // row["solved"]["mamba_ratio"]
    assert facts.limits["kv"] == row["solved"]["max_total_num_tokens"] // 2


def test_a_limit_that_is_missing_leaves_the_grant_open():
    assert (
        read_server_info(Engine(info={"mamba_radix_cache_strategy": "auto"}).server_info()).expected_per_worker is None
    )
    unasked = Engine(state=(20_000, 0, 0), kv=(9_000_000, 0, 0), requested=None).server_info()
    assert read_server_info(unasked).expected_per_worker is None
    assert read_server_info(Engine(requested=None).server_info()).expected_per_worker == 20


def test_without_internal_states_only_the_launch_is_known():
    facts = read_server_info(Engine(info={"internal_states": []}).server_info())
    assert (facts.state_slots, facts.granted_per_worker, facts.slots_per_request) == (None, (), None)
    assert facts.kv_tokens == 1_000_000


@pytest.mark.parametrize("answer", [{}, {"detail": "Not Found"}, [], None])
def test_another_answer_is_refused(answer):
    with pytest.raises(InputError):
        read_server_info(answer)


def test_a_recording_keeps_no_secret():
    kept = trim_server_info(Engine().server_info())
    assert "hunter2" not in json.dumps(kept)
    assert kept["launch_command"].endswith("--api-key REDACTED --tp 2")
    assert read_server_info(kept) == read_server_info(Engine().server_info())


@pytest.mark.parametrize(
    "flags",
    [
        "--tokenizer-path /t --speculative-num-draft-tokens 4 --max-total-tokens 9 --skip-tokenizer-init --page-size 1",
        "--tokenizer-mode=auto --chunked-prefill-size 2048 --keep-mm-feature-on-device --tp 2",
    ],
)
def test_flags_that_only_sound_secret_stay(flags):
    assert read_server_info(Engine(info={"launch_command": flags}).server_info()).launch_command == flags


@pytest.mark.parametrize(
    ("flags", "shown"),
    [
        ("--admin-api-key=a1 --tp 2", "--admin-api-key=REDACTED --tp 2"),
        ("--api-key 'a1 b2' --tp 2", "--api-key REDACTED --tp 2"),
        ('--ssl-keyfile-password "a1 \\" b2" --tp 2', "--ssl-keyfile-password REDACTED --tp 2"),
        ("--api-key a1\\ b2 --tp 2", "--api-key REDACTED --tp 2"),
    ],
)
def test_secrets_are_blanked_however_they_are_quoted(flags, shown):
    assert read_server_info(Engine(info={"launch_command": flags}).server_info()).launch_command == shown


def test_loads_are_read_by_worker():
    loads = read_loads(Engine(dp_ranks=(0, 1), running=3, queued=1).loads())
    assert loads[1] == {"running": 3, "queued": 1, "granted": 20, "kv_tokens": 1_000_000, "kv_used_tokens": 250_000}


@pytest.mark.parametrize("answer", [{}, {"loads": 3}, []])
def test_other_loads_are_refused(answer):
    with pytest.raises(InputError):
        read_loads(answer)
