"""`poolsplit plan --trace FILE --goal ...` on the real command line."""

import pytest

MODEL = ["plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h100-80gb", "--tp", "2", "--no-levers"]
MEMORY = ["--free-before", "78GiB", "--free-after", "8GiB", "--mem-fraction-static", "0.92"]


@pytest.fixture
def planned(poolsplit):
    made = poolsplit("trace", "synth", "rag", "--requests", "400", "--seed", "5", "-o", "rag.pst")
    assert made.exit_code == 0, made.stderr

    def plan(*words):
        return poolsplit(*MODEL, *MEMORY, "--trace", "rag.pst", *words)

    return plan


def test_the_recommended_split_beats_its_rivals_and_solves_to_what_it_says(planned):
    done = planned("--goal", "recompute", "--json")
    assert done.exit_code == 0, done.stderr
    found = done.document
    rivals = {rival["name"]: rival for rival in found["trace"]["rivals"]}
    assert set(rivals) == {"recommended", "current", "default 0.9", "closed form"}
    best = rivals["recommended"]
    assert (best["state_slots"], best["kv_tokens"]) == (
        found["recommended"]["state_slots"],
        found["recommended"]["kv_tokens"],
    )
    for rival in rivals.values():
        if rival["recomputed_tokens"] is not None and rival["reason"] is None:
            assert best["recomputed_tokens"] <= 1.005 * rival["recomputed_tokens"]
    assert found["trace"]["scheduler_recomputed_tokens"] is not None
    assert found["recommended"]["flags"]
    assert {"line_splits", "line_replays", "trace_recomputed_tokens"} <= {s["name"] for s in found["derivation"]}


def test_levers_on_checkpoints_are_what_the_launch_with_them_replays_to(poolsplit, planned):
    words = [word for word in MODEL if word != "--no-levers"] + [*MEMORY, "--trace", "rag.pst", "--goal", "recompute"]
    found = poolsplit(*words, "--json").document
    levers = {lever["name"]: lever for lever in found["trace"]["levers"]}
    assert set(levers) == {"larger_prefill_chunk", "longer_track_interval", "states_per_path"}
    split = [word for flag in found["recommended"]["flags"] for word in flag.split()]
    for name in ("longer_track_interval", "states_per_path"):
        flags = [word for flag in levers[name]["flags"] for word in flag.split()]
        current = next(
            r
            for r in planned("--goal", "recompute", *split, *flags, "--json").document["trace"]["rivals"]
            if r["name"] == "current"
        )
        assert current["recomputed_tokens"] == levers[name]["recomputed_tokens"]
    assert planned("--goal", "recompute", "--json").document["trace"]["levers"] == []


@pytest.mark.parametrize("flags", [["--speculative-algorithm", "EAGLE"], ["--disable-overlap-schedule"]])
def test_speculation_and_schedule_keep_the_prefixes(planned, flags):
    done = planned("--goal", "recompute", *flags, "--json")
    assert done.exit_code == 0, done.stderr
    assert done.document["trace"]["rivals"][0]["cached_fraction"] > 0


def test_no_radix_cache_keeps_none(planned):
    planned("--goal", "recompute", "--disable-radix-cache").assert_error(2, "keeps no prefixes")


def test_goals_trade_running_requests_for_reuse(planned):
    found = {goal: planned("--goal", goal, "--json").document for goal in ("recompute", "balanced", "concurrency")}
    running = [found[goal]["recommended"]["running_requests"] for goal in found]
    assert running == sorted(running)
    recomputed = [found[goal]["trace"]["least_recomputed_tokens"] for goal in found]
    assert recomputed == sorted(recomputed)


def test_closed_loops_are_answered_for_other_numbers_of_sessions(planned):
    speeds = ["--prefill-tokens-per-s", "9000", "--decode-tokens-per-s", "50"]
    done = planned("--goal", "recompute", "--trace-mode", "closed", "--live-sessions", "4", *speeds)
    assert done.exit_code == 0, done.stderr
    assert "4 sessions at a time" in done.stdout
    assert "recomputed with this split" in done.stdout
    assert "reused" in done.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "needle"),
    [
        (["--goal", "recompute", "--trace-mode", "closed"], "--live-sessions"),
        (["--goal", "recompute", "--concurrency", "100000"], "holds what runs at once"),
    ],
)
def test_what_cannot_be_planned_is_said(planned, words, needle):
    planned(*words).assert_error(3 if "--concurrency" in words else 2, needle)


def test_a_goal_needs_a_trace(poolsplit):
    poolsplit(*MODEL, *MEMORY, "--context", "8k", "--goal", "recompute").assert_error(2, "needs a trace")


def test_checkpoints_lie_on_the_state_chunk_of_the_model(poolsplit):
    made = poolsplit("trace", "synth", "rag", "--requests", "300", "--seed", "5", "-o", "rag.pst")
    assert made.exit_code == 0, made.stderr
    model = ["plan", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "--gpu", "h100-80gb", "--no-levers", "--free-before",
             "78GiB", "--free-after", "14GiB", "--chunked-prefill-size", "8192", "--trace", "rag.pst"]  # fmt: skip
    planned = poolsplit(*model, "--goal", "recompute", "--json")
    assert planned.exit_code == 0, planned.stderr
    best = planned.document["trace"]["rivals"][0]

    def replayed(chunk):
        split = ["--state-slots", str(best["state_slots"]), "--kv-tokens", str(best["kv_tokens"])]
        words = ["--chunked-prefill-size", "8192", "--state-chunk", chunk, "--json"]
        return poolsplit("replay", "rag.pst", *split, *words).document["recomputed_tokens"]

    assert best["recomputed_tokens"] == replayed("128") != replayed("64")
