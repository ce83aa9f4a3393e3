"""What `poolsplit plan` adds when it is asked: sessions, spreads, releases, roles, levers."""

import contextlib
import io

import pytest

from plan_cases import planned
from poolsplit.cli.app import run
from poolsplit.errors import UsageError

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
HANDED = (QWEN, "--gpu", "h200", "--tp", "4", "--kv-cache-dtype", "fp8_e4m3", "--mem-fraction-static", "1.0")
REST = ("--free-before", "81.98GiB", "--free-after", "81.98GiB")


def test_kept_sessions_pin_their_slots():
    words = ("--context", "8k", "--concurrency", "48", "--sessions", "200", "--session-tokens", "16k")
    plan = planned(*HANDED, *REST, *words, "--checkpoints-per-session", "1")
    sessions = plan["sessions"]
    assert sessions["state_slots_needed"] == 392
    assert sessions["kv_tokens_needed"] == 200 * 16384
    assert sessions["fits"] is True
    assert sessions["bound_by"] == "concurrency"
    assert plan["recommended"]["max_mamba_cache_size"] == 392
    assert plan["recommended"]["running_requests"] >= 48


def test_steps_and_levers_are_those_of_the_split_that_keeps_the_sessions():
    words = ("--context", "30k", "--concurrency", "48", "--sessions", "200", "--session-tokens", "16k")
    plan = planned(*HANDED, *REST, *words)
    slots = plan["recommended"]["state_slots"]
    steps = {step["name"]: step["value"] for step in plan["derivation"]}
    assert steps["state_slots"] == slots == plan["sessions"]["state_slots_needed"]
    assert steps["kv_tokens"] == plan["recommended"]["kv_tokens"]
    offered = [lever for lever in plan["levers"] if lever["status"] == "offered"]
    assert offered
    halved = next(lever for lever in offered if lever["name"] == "state_bf16")
    assert halved["kv_tokens"] > plan["recommended"]["kv_tokens"]
    assert halved["running_requests"] >= plan["recommended"]["running_requests"]


def test_sessions_that_do_not_fit_are_told_in_the_first_line():
    words = ("--context", "30k", "--concurrency", "48", "--sessions", "2000", "--session-tokens", "30k")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run(["plan", *HANDED, *REST, *words, "--quiet", "--no-levers"]) == 3
    first = " ".join(out.getvalue().partition("\n\n")[0].split())
    assert first.endswith("; the kept sessions do not fit")


def test_nothing_is_kept_without_a_prefix_cache():
    words = ("--context", "8k", "--sessions", "200", "--session-tokens", "8k", "--disable-radix-cache")
    alone, kept = planned(*HANDED, *REST, *words[:2], words[-1]), planned(*HANDED, *REST, *words)
    assert kept["sessions"]["fits"] is False
    assert kept["recommended"] == alone["recommended"]
    assert "no session is kept between its turns: this launch has no prefix cache" in kept["notes"]


def test_a_prompt_that_is_not_cut_into_chunks_leaves_one_checkpoint():
    words = ("--context", "8k", "--sessions", "20", "--session-tokens", "32k", "--chunked-prefill-size", "-1")
    sessions = planned(*HANDED, *REST, *words)["sessions"]
    assert sessions["checkpoints_per_session"] == 1
    assert sessions["reuse_collapses"] is False


def test_sessions_that_the_split_holds_anyway_cost_no_requests():
    words = ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8k", "-q", "--no-levers")
    rest = ("--free-before", "120GiB", "--free-after", "60GiB")
    alone, kept = (planned(*words, *rest, *more) for more in ((), ("--sessions", "5", "--session-tokens", "40k")))
    assert kept["sessions"]["fits"]
    assert kept["recommended"] == alone["recommended"]


def test_a_session_longer_than_the_context_is_warned_of():
    words = ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8k", "-q", "--no-levers")
    rest = ("--free-before", "120GiB", "--free-after", "60GiB")
    plan = planned(*words, *rest, "--sessions", "5", "--session-tokens", "300k")
    assert any("kept session of 307,200 tokens is longer" in text for text in plan["warnings"])


def test_checkpoints_of_a_session_follow_the_chunk_and_the_limit():
    words = ("--context", "8k", "--concurrency", "48", "--sessions", "200", "--session-tokens", "32k")
    dense = planned(*HANDED, *REST, *words)["sessions"]
    assert dense["checkpoints_per_session"] == 4
    capped = planned(*HANDED, *REST, *words, "--mamba-max-states-per-path", "1")["sessions"]
    assert capped["checkpoints_per_session"] == 1
    assert capped["state_slots_needed"] < dense["state_slots_needed"]


def test_sessions_that_do_not_fit_say_which_pool_ends():
    words = ("--context", "8k", "--sessions", "5000", "--session-tokens", "8k", "--checkpoints-per-session", "1")
    plan = planned(*HANDED, *REST, *words)
    assert plan["sessions"]["fits"] is False
    assert plan["sessions"]["binding"] == "kv"
    with pytest.raises(UsageError, match="length of a kept session"):
        planned(*HANDED, *REST, "--context", "8k", "--sessions", "5")


def test_a_host_tier_is_counted_in_states():
    words = ("--context", "8k", "--sessions", "200", "--session-tokens", "8448", "--chunked-prefill-size", "4096")
    plan = planned(*HANDED, *REST, *words, "--hicache-ratio", "0.2")["sessions"]
    assert plan["host_states_needed"] == 600
    assert plan["host_resumes_all"] == (plan["host_states"] >= 600)


def test_a_spread_is_not_its_mean():
    mix = planned(*HANDED, *REST, "--lengths", "p50=2k,p90=32k,p99=128k")
    figures = mix["mix"]
    assert figures["overflow_of_mean_plan"] > 0.3
    assert mix["recommended"]["running_requests"] < figures["promised_by_mean"]
    assert figures["running_at_mean_ratio"] < mix["recommended"]["running_requests"]
    assert [point["factor"] for point in figures["losses"]] == [0.8, 0.9, 1.0, 1.1, 1.25]
    best = max(point["running_requests"] for point in figures["losses"])
    assert best == mix["recommended"]["running_requests"]
    wide = planned(*HANDED, *REST, "--lengths", "p50=2k,p90=32k,p99=128k", "--overflow", "0.5")
    assert wide["recommended"]["running_requests"] > mix["recommended"]["running_requests"]


def test_another_release_s_rules():
    words = ("--context", "8k", "--pp-size", "4", "--compare-version", "0.5.16")
    plan = planned(QWEN, "--gpu", "h200", *words)
    compared = plan["compared"]
    assert compared["version"] == "0.5.16"
    assert compared["delta_slots"] == plan["current"]["state_slots"] - compared["figures"]["state_slots"]
    assert compared["delta_slots"] > 2 * compared["figures"]["state_slots"]
    assert compared["delta_free_bytes"] < -(2**30)
    assert any("--max-total-tokens" in flag for flag in compared["keep_flags"])
    assert "headroom" in compared["text"]


def test_a_pair_of_roles():
    plan = planned(*HANDED, *REST, "--input", "7k", "--output", "1k", "--pair")
    prefill, decode = plan["pair"]
    assert (prefill["role"], prefill["tokens"]) == ("prefill", 7168)
    assert (decode["role"], decode["tokens"]) == ("decode", 8192)
    assert "--disaggregation-mode prefill" in prefill["launch_command"]
    with pytest.raises(UsageError, match="input and output apart"):
        planned(*HANDED, *REST, "--context", "8k", "--pair")


def test_levers_are_in_the_document():
    plan = planned(*HANDED, *REST, "--context", "8k")
    levers = plan["levers"]
    assert levers[0]["status"] == "offered"
    assert {"name", "flags", "status", "reason", "running_requests", "kv_tokens", "delta_requests", "risk"} <= set(
        levers[0]
    )
    for lever in levers:
        if lever["status"] == "offered":
            gained = lever["total_running_requests"] - plan["recommended"]["total_running_requests"]
            assert lever["delta_requests"] == gained
    assert any(lever["status"] == "refused" and lever["reason"] for lever in levers)
    quiet = planned(*HANDED, *REST, "--context", "8k", "--no-levers")
    assert quiet["levers"] == []


@pytest.mark.parametrize("flag", ["--enable-linear-replayssm-spec", "--enable-int8-mamba-checkpoint"])
def test_what_is_not_reserved_is_told(flag):
    words = ("--context", "8k", "--speculative-algorithm", "EAGLE", flag)
    done = planned(QWEN, "--gpu", "h200", "--tp", "2", *words)
    assert any(buffer["bytes"] > buffer["reserved_bytes"] for buffer in done["headroom"])
    assert done["free_after_pools_bytes"] is not None


def test_the_default_cap_of_speculation_is_explained():
    rest = ("--free-before", "46.8663GiB", "--free-after", "46.8663GiB", "--mem-fraction-static", "1.0")
    words = ("--context", "2k", "--speculative-algorithm", "EAGLE")
    plan = planned(QWEN, "--gpu", "h200", "--tp", "2", *rest, *words)
    assert plan["current"]["binding"] == "request_cap"
    assert plan["current"]["effective_ratio"] == pytest.approx(0.7014, abs=5e-5)
    assert any("0.7014" in note and "68 requests" in note for note in plan["notes"])


@pytest.mark.parametrize("typed", ["Qwen3-Next-80B-A3B-Instruct", "qwen/qwen3-next-80b-a3b-instruct"])
def test_the_launch_names_an_embedded_model_as_a_server_can_load_it(typed):
    words = ("--gpu", "h200", "--tp", "4", "--context", "8k", "--no-levers")
    assert f"--model-path {QWEN} " in planned(typed, *words, *REST)["launch_command"]


def test_a_pasted_launch_keeps_the_name_it_came_with():
    pasted = "sglang serve --model-path qwen3-next-80b-a3b-instruct --tp 4"
    words = ("plan", "--gpu", "h200", *REST, "--context", "8k", "--no-levers", "--quiet", "--", *pasted.split())
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(list(words)) == 0
    assert f"{pasted} --mamba-full-memory-ratio" in out.getvalue()


def test_fewer_requests_than_now_are_not_said_to_be_the_most():
    words = (QWEN, "--gpu", "h200", "--tp", "2", "--context", "9216", "--no-levers", "--concurrency", "48")
    plan = planned(*words, "--free-before", "139GiB", "--free-after", "58GiB")
    assert (plan["current"]["running_requests"], plan["recommended"]["running_requests"]) == (116, 48)
    assert not any("no split runs more" in note for note in plan["notes"])
    assert any("the split as it stands runs 116 requests" in note for note in plan["notes"])


def test_both_pools_in_use_at_the_median():
    words = (QWEN, "--gpu", "h200", "--tp", "2", "--context", "9216", "--no-levers", "--concurrency", "48")
    plan = planned(*words, "--free-before", "139GiB", "--free-after", "58GiB", "--concurrency-median", "27")
    assert (plan["recommended"]["state_slots"], plan["recommended"]["kv_tokens"]) == (241, 3_116_960)
    assert (round(100 * 27 * 4 / 241), round(100 * 27 * 9216 / 3_116_960)) == (45, 8)
    assert any("27 running requests, about 45 % of the state slots and 8 % of the KV pool" in n for n in plan["notes"])


def test_an_upgrade_is_warned_of_from_the_release_that_runs():
    words = (QWEN, "--gpu", "h200", "--tp", "1", "--pp-size", "4", "--context", "9216", "--no-levers")
    rest = ("--free-before", "139GiB", "--free-after", "80GiB")
    upward = planned(*words, *rest, "--engine-version", "0.5.16", "--compare-version", "0.5.23")["compared"]
    downward = planned(*words, *rest, "--engine-version", "0.5.23", "--compare-version", "0.5.16")["compared"]
    assert upward["delta_free_bytes"] == -downward["delta_free_bytes"] > 20 << 30
    assert upward["keep_flags"] == downward["keep_flags"]
    assert upward["text"].split("; ")[-1] == downward["text"].split("; ")[-1]
    assert "tuned for 0.5.16 may fail to start under 0.5.23" in upward["text"]


def test_what_keeps_the_pools_keeps_the_free_memory_too():
    words = (QWEN, "--gpu", "h200", "--tp", "1", "--pp-size", "4", "--context", "9216", "--no-levers")
    rest = ("--free-before", "139GiB", "--free-after", "80GiB", "--compare-version", "0.5.16")
    grown = planned(*words, *rest)["compared"]
    assert grown["keep_flags"][0] == "--max-mamba-cache-size 436 --max-total-tokens 6092968"
    kept = planned(*words, *rest, *grown["keep_flags"][0].split())
    assert (kept["current"]["state_slots"], kept["current"]["kv_tokens"]) == (436, 6_092_968)
    assert kept["compared"]["delta_free_bytes"] == 0
    lower = planned(*words, *rest[:4], *grown["keep_flags"][1].split())
    assert lower["free_after_pools_bytes"] >= grown["free_after_pools_bytes"]


@pytest.mark.parametrize(("sessions", "resumes"), [(400, True), (2000, False)])
def test_the_host_tier_is_told_of(sessions, resumes):
    words = ("--context", "8k", "--sessions", str(sessions), "--session-tokens", "8448")
    tier = ("--chunked-prefill-size", "4096", "--enable-hierarchical-cache", "--hicache-ratio", "2")
    plan = planned(*HANDED, *REST, *words, *tier)
    kept, told = plan["sessions"], [note for note in plan["notes"] if note.startswith("the host tier holds")]
    assert (kept["host_states_needed"], kept["host_tokens_needed"]) == (3 * sessions, 8448 * sessions)
    assert kept["host_resumes_all"] is resumes
    assert told[0].endswith(f"tokens: {'every' if resumes else 'not every'} session resumes")


def test_host_states_without_the_tokens_resume_nothing_more():
    words = (QWEN, "--gpu", "h200", "--tp", "4", "--context", "8k", "--sessions", "400", "--session-tokens", "60k")
    tier = ("--checkpoints-per-session", "1", "--enable-hierarchical-cache", "--hicache-ratio", "1.5")
    kept = planned(*words, *REST, *tier)["sessions"]
    assert kept["host_states"] >= kept["host_states_needed"]
    assert kept["host_tokens"] < kept["host_tokens_needed"]
    assert kept["host_resumes_all"] is False
