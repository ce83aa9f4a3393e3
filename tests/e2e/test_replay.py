"""`poolsplit replay` from outside."""

import gzip
import json

from support import GOLDEN


def test_a_batch_is_answered_line_by_line(poolsplit, tmp_path):
    with gzip.open(GOLDEN / "replay_cases.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines][:5]
    file = tmp_path / "workloads.jsonl"
    cases = [{k: v for k, v in row.items() if k not in {"expect", "freed"}} | {"want_freed": True} for row in rows]
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    result = poolsplit("replay", "--batch", str(file))
    assert result.exit_code == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["n"] for answer in answers] == [row["n"] for row in rows]
    assert [answer["expect"] for answer in answers] == [row["expect"] for row in rows]
    assert all(answer["freed"] is not None for answer in answers)


def test_a_bad_line_is_named(poolsplit, tmp_path):
    file = tmp_path / "workloads.jsonl"
    file.write_text('{"config": {}}\n')
    poolsplit("replay", "--batch", str(file)).assert_error(2, "line 1")


def test_a_missing_batch_file(poolsplit):
    poolsplit("replay", "--batch", "nowhere.jsonl").assert_error(2, "nowhere.jsonl")


MOONCAKE = [
    {"timestamp": 1000 * i, "input_length": 512 * (i + 1), "output_length": 20, "hash_ids": list(range(i + 1))}
    for i in range(6)
]
SPLIT = ("--state-slots", "64", "--kv-tokens", "100k")


def mooncake(tmp_path):
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in MOONCAKE))
    return str(file)


def test_a_trace_at_one_split(poolsplit, tmp_path):
    result = poolsplit("replay", mooncake(tmp_path), *SPLIT, "--json")
    assert result.exit_code == 0, result.stderr
    document = result.document
    assert document["requests"] == 6
    assert document["input_tokens"] == sum(row["input_length"] for row in MOONCAKE)
    assert document["cached_tokens"] + document["recomputed_tokens"] == document["input_tokens"]
    assert document["cached_fraction"] > 0.5
    assert document["wall_s"] is None
    assert document["wall_s_reason"]
    assert document["rules"]["evidence"] == "run"


def test_the_same_trace_by_its_clock(poolsplit, tmp_path):
    rates = ("--prefill-tokens-per-s", "20000", "--decode-tokens-per-s", "1:80,32:40")
    curve = tmp_path / "curve.csv"
    asked = ("--mode", "recorded", *rates, "--timeline", str(curve))
    result = poolsplit("replay", mooncake(tmp_path), *SPLIT, *asked, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.document["wall_s"] > 5
    head, *points = curve.read_text().splitlines()
    assert head.startswith("iteration,clock_s,")
    assert len(points) > 0


def test_a_clock_without_rates(poolsplit, tmp_path):
    poolsplit("replay", mooncake(tmp_path), *SPLIT, "--mode", "closed").assert_error(2, "how fast")


def test_pools_are_needed(poolsplit, tmp_path):
    poolsplit("replay", mooncake(tmp_path), "--state-slots", "64").assert_error(2, "--kv-tokens")


def test_text_for_people(poolsplit, tmp_path):
    result = poolsplit("replay", mooncake(tmp_path), *SPLIT, "--explain")
    assert result.exit_code == 0, result.stderr
    assert "lost to evicted states" in result.stdout
    assert "slots_per_request = 5" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def run_time_log(tmp_path, pairs=12):
    head = "[2026-10-01 10:00:00 TP0] "
    prefill = (
        "Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, full token usage: 0.10, mamba usage: 0.20, "
    )
    prefill += "#running-req: 0, #queue-req: 1, cuda graph: False, input throughput (token/s): 20000.00\n"
    decode = (
        "Decode batch, #running-req: 2, #full token: 900, full token usage: 0.10, mamba num: 9, mamba usage: 0.20, "
    )
    decode += "cuda graph: True, gen throughput (token/s): 100.00, #queue-req: 0\n"
    log = tmp_path / "server.log"
    log.write_text((head + prefill) * (pairs + 1) + (head + decode) * (pairs + 1))
    return str(log)


def test_rates_come_from_a_log(poolsplit, tmp_path):
    asked = ("--mode", "recorded", "--rates-from", run_time_log(tmp_path))
    result = poolsplit("replay", mooncake(tmp_path), *SPLIT, *asked, "--json")
    assert result.exit_code == 0, result.stderr
    clock = result.document["clock"]
    assert clock["prefill_tokens_per_s"] == 20_000
    assert clock["decode_tokens_per_s"] == [[2, 50.0]]
    assert (clock["prefill_lines"], clock["decode_lines"]) == (12, 12)
    given = ("--prefill-tokens-per-s", "20000", "--decode-tokens-per-s", "2:50")
    by_hand = poolsplit("replay", mooncake(tmp_path), *SPLIT, "--mode", "recorded", *given, "--json")
    assert by_hand.document["wall_s"] == result.document["wall_s"]
    shown = poolsplit("replay", mooncake(tmp_path), *SPLIT, *asked, "--explain")
    assert "12 full prefill batches" in shown.stdout


def test_a_log_with_too_few_lines_gives_no_rates(poolsplit, tmp_path):
    asked = ("--mode", "closed", "--rates-from", run_time_log(tmp_path, pairs=4))
    poolsplit("replay", mooncake(tmp_path), *SPLIT, *asked).assert_error(2, "5 prefill lines, of which 4")


def test_levers_are_priced(poolsplit, tmp_path):
    result = poolsplit("replay", mooncake(tmp_path), *SPLIT, "--levers", "--json")
    assert result.exit_code == 0, result.stderr
    document = result.document
    names = [row["name"] for row in document["levers"]]
    assert "max_states_per_path=3" in names
    assert "strategy=no_buffer" in names
    assert document["current"]["cached_fraction"] > 0.5
    shown = poolsplit("replay", mooncake(tmp_path), *SPLIT, "--levers", "--explain")
    assert "as asked" in shown.stdout
    assert "slots_per_request = 5" in shown.stdout


def test_levers_are_of_one_trace_and_have_no_timeline(poolsplit, tmp_path):
    poolsplit("replay", "--batch", "x.jsonl", "--levers").assert_error(2, "not a batch")
    asked = ("--levers", "--timeline", "curve.csv")
    poolsplit("replay", mooncake(tmp_path), *SPLIT, *asked).assert_error(2, "timeline")


def test_a_batch_and_a_trace_do_not_go_together(poolsplit, tmp_path):
    (tmp_path / "workloads.jsonl").write_text("")
    answer = poolsplit("replay", "--batch", str(tmp_path / "workloads.jsonl"), mooncake(tmp_path))
    answer.assert_error(2, "would not be replayed")


def coming_back(tmp_path):
    """200 prompts of 8,448 tokens one after the other, then the first 8 of them again."""
    file = tmp_path / "back.jsonl"
    rows = (
        {"timestamp": i, "input_length": 8448, "output_length": 1, "hash_ids": list(range(17 * p, 17 * p + 17))}
        for i, p in enumerate((*range(200), *range(8)))
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


DEVICE = ("--state-slots", "60", "--kv-tokens", "200000", "--chunked-prefill-size", "4096")


def test_the_published_host_tier_brings_back_none_with_565_states_and_all_with_734(poolsplit, tmp_path):
    trace = coming_back(tmp_path)
    for states, prompts in ((565, 0), (734, 8)):
        tier = ("--host-state-slots", str(states), "--host-kv-tokens", "2680896")
        document = poolsplit("replay", trace, *DEVICE, *tier, "--json").document
        assert document["cached_tokens"] == prompts * 8192
        host = document["host"]
        assert host["loaded_tokens"] == prompts * 8192
        assert host["state_peak"] == min(states, 600 + (8 if prompts else 0))
        assert "by reading, not verified against the engine" in host["not_verified"]
        assert any(host["not_verified"] in warning for warning in document["warnings"])


def test_the_host_tier_is_marked_in_text_and_absent_without_one(poolsplit, tmp_path):
    trace = mooncake(tmp_path)
    text = poolsplit("replay", trace, *SPLIT, "--hicache-ratio", "2", "--hicache-write-policy", "write_back").stdout
    assert "host      128 states, 204,800 KV tokens, write_back" in text
    assert "by reading, not verified" in " ".join(text.split())
    document = poolsplit("replay", trace, *SPLIT, "--json").document
    assert document["host"] is None
    assert document["host_reason"]


def test_a_plan_gives_pages_chunks_and_the_host_tier_and_the_answer_says_so(poolsplit, tmp_path):
    plan = str(tmp_path / "plan.json")
    flags = ("--page-size", "64", "--chunked-prefill-size", "4096", "--enable-hierarchical-cache")
    made = poolsplit("plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "32k",
                     *flags, "--json", "-o", plan)  # fmt: skip
    assert made.exit_code == 0, made.stderr
    document = poolsplit(
        "replay", mooncake(tmp_path), "--plan", plan, "--strategy", "extra_buffer_lazy", "--json"
    ).document
    server, origins = document["server"], document["server_origins"]
    assert (server["page_tokens"], server["chunk_tokens"]) == (64, 4096)
    assert origins["page_size"] == f"plan {plan}"
    assert origins["strategy"] == "command line"
    assert document["host"]["state_slots"] == 2 * server["state_slots"]


def test_unified_memory_is_marked_and_names_its_buffer(poolsplit, tmp_path):
    prices = ("--enable-unified-memory", "--state-bytes", "100000", "--kv-bytes", "1000")
    document = poolsplit("replay", mooncake(tmp_path), *SPLIT, *prices, "--json").document
    unified = document["unified"]
    assert unified["total_bytes"] == 64 * 100_000 + 102_400 * 1000
    assert "not verified against the engine" in unified["not_verified"]
    assert any(unified["not_verified"] in warning for warning in document["warnings"])
    text = poolsplit("replay", mooncake(tmp_path), *SPLIT, *prices).stdout
    assert "one buffer of 103.76 MiB for both pools" in text
