"""Every printed lever is solved again from its words alone and must give its figures."""

from dataclasses import replace

import pytest

from plan_cases import KIMI_K3, QWEN_NEXT, deployment, planned, question, traffic
from poolsplit.answers.planner.prepare import deployment_of, levers_for
from poolsplit.engines.sglang.command import parse_flags
from poolsplit.engines.sglang.command.flag_table import find_flag
from poolsplit.engines.sglang.deployment import changed_flags
from poolsplit.engines.sglang.faults import FAULTS, faults_in, packed_prefill_reachable
from poolsplit.engines.sglang.levers import levers_of
from poolsplit.hub import find_model
from poolsplit.planning.choose import choose
from poolsplit.planning.levers import price_levers
from poolsplit.planning.outcome import evaluate

LAUNCHES = [
    (QWEN_NEXT, "--tp 4", 60.0),
    (QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE", 46.8663),
    (QWEN_NEXT, "--tp 1 --pp-size 4", 50.0),
    (QWEN_NEXT, "--tp 4 --disable-radix-cache --max-running-requests 64", 20.0),
    (KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 28.9),
    (KIMI_K3, "--tp 8 --dcp-size 8", 28.9),
    ("Qwen/Qwen3.5-9B", "--tp 1 --max-total-tokens 100000", 12.0),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "--tp 2", 20.0),
    ("LiquidAI/LFM2-8B-A1B", "--tp 1", 5.0),
]


def priced(model, flags, rest_gib, tokens):
    launch = deployment(model, flags, rest_gib)
    choice = choose(question(launch, traffic(tokens)))
    changes = choice.recommended.changes
    offered = levers_of(
        launch.shape, changed_flags(launch.flags, changes), launch.resolve(changes), launch.device, "0.5.23"
    )
    return launch, choice, price_levers(question(launch, traffic(tokens)), offered, choice.recommended)


def again(model, flags, rest_gib, lever):
    """The launch out of the lever's words: the flags as given, without those it removes, with those it names."""
    kept, words = [], flags.split()
    while words:
        word = words.pop(0)
        values = [words.pop(0)] if words and not words[0].startswith("--") else []
        if parse_flags([word, *values]).arguments[0].field not in {
            parse_flags([gone, "1"]).arguments[0].field for gone in lever.removes
        }:
            kept.extend([word, *values])
    named = [word for flag in lever.flags for word in flag.split()]
    variables = dict(word.split("=") for word in named if not word.startswith("--") and "=" in word)
    added = " ".join(word for word in named if word.partition("=")[0] not in variables)
    launch = deployment(model, f"{' '.join(kept)} {added}", rest_gib)
    return replace(launch, flags=replace(launch.flags, env=variables))


@pytest.mark.parametrize(("model", "flags", "rest_gib"), LAUNCHES)
def test_every_lever_gives_its_figures_when_its_words_are_read_again(model, flags, rest_gib):
    _, choice, levers = priced(model, flags, rest_gib, 8192)
    assert len(levers) >= 8
    for lever in levers:
        if lever.status == "refused" or lever.name in {"memory_fraction", "default_memory_fraction", "own_draft_path"}:
            continue
        outcome = evaluate(again(model, flags, rest_gib, lever), traffic(8192), {})
        pools = outcome.solution.pools
        assert (outcome.running_requests, pools.logical_tokens, pools.state_slots) == (
            lever.running_requests,
            lever.kv_tokens,
            lever.state_slots,
        ), lever.name
        assert lever.delta_requests == outcome.total_running - choice.recommended.total_running


@pytest.mark.parametrize(("model", "flags", "rest_gib"), LAUNCHES[:3])
def test_offered_before_refused_and_most_gained_first(model, flags, rest_gib):
    _, _, levers = priced(model, flags, rest_gib, 8192)
    assert levers[0].status == "offered"
    refused = [lever.status == "refused" for lever in levers]
    assert refused == sorted(refused)
    gains = [lever.delta_requests for lever in levers if lever.status == "offered"]
    assert gains == sorted(gains, reverse=True)
    assert all(lever.reason for lever in levers if lever.status == "refused")


def test_a_lever_that_the_card_refuses_says_why():
    _, _, levers = priced(QWEN_NEXT, "--tp 4", 60.0, 8192)
    fp4 = next(lever for lever in levers if lever.name == "kv_fp4")
    assert fp4.status == "refused"
    assert "SM100" in fp4.reason
    assert fp4.running_requests is None


def test_both_caps_are_raised_together():
    launch, choice, levers = priced(QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE", 46.8663, 2048)
    assert choice.recommended.running_requests == 48
    cap = next(lever for lever in levers if lever.name == "request_cap")
    assert cap.running_requests > 48
    assert f"--max-running-requests {cap.running_requests}" in cap.flags
    assert launch.solve({}).request_cap == 48


def test_exactly_enough_slots_are_never_advised_without_the_lock():
    _, _, levers = priced(QWEN_NEXT, "--tp 4", 60.0, 8192)
    lever = next(lever for lever in levers if lever.name == "skip_decode_lock")
    assert lever.state_slots == lever.running_requests * 4 + 1


def test_naming_the_model_as_its_own_draft_reserves_draft_rows():
    flags = "--tp 2 --speculative-algorithm EAGLE --max-running-requests 200"
    launch = deployment("Qwen/Qwen3.5-9B", flags, 12.0)
    model = find_model("Qwen/Qwen3.5-9B")
    opened = type("Opened", (), {})()
    opened.shape, opened.flags, opened.device = model.shape, launch.flags, launch.device
    opened.switches, opened.draft, opened.launch = launch.switches, None, launch.launch
    full = deployment_of(opened, launch.memory)
    plain = full.solve({}).pools.stages[0].kv_bytes_per_token
    named = full.solve({"speculative_draft_model_path": "Qwen/Qwen3.5-9B"}).pools.stages[0].kv_bytes_per_token
    assert named == plain + plain // model.shape.kv_layer_ids.__len__()


def test_known_faults_by_release():
    assert {fault.id for fault in faults_in("0.5.16")} >= {"whole_model_charged", "host_size_each_pool"}
    assert "whole_model_charged" not in {fault.id for fault in faults_in("0.5.17")}
    assert all(fault.source and fault.text for fault in FAULTS)
    assert packed_prefill_reachable("KimiK3ForConditionalGeneration", 65536)
    assert not packed_prefill_reachable("KimiK3ForConditionalGeneration", 16384)


INKLING = ("thinkingmachines/Inkling", "--gpu", "b200", "--tp", "8", "--free-before", "170GiB", "--free-after", "60GiB")


def inkling(*words):
    plan = planned(*INKLING, "--context", "8k", "-q", *words)
    return plan, {lever["name"]: lever for lever in plan["levers"]}


@pytest.mark.parametrize("version", ["0.5.16", "0.5.23"])
def test_what_stops_a_model_while_it_loads_is_refused(version):
    plan, levers = inkling("--engine-version", version)
    assert not any("stops while it loads" in text for text in plan["warnings"])
    for name in ("no_buffer", "prefix_cache_off"):
        assert levers[name]["status"] == "refused"
        assert "stops while it loads" in levers[name]["reason"]
    assert levers["page_size"]["status"] == "offered"


def test_a_launch_that_stops_while_it_loads_is_warned_of_and_the_way_out_is_offered():
    plan, levers = inkling("--disable-radix-cache")
    assert any("without a radix cache" in text for text in plan["warnings"])
    assert levers["prefix_cache_on"]["status"] == "offered"
    assert levers["page_size"]["status"] == "refused"


def test_a_decode_server_is_exempt():
    plan, levers = inkling("--disaggregation-mode", "decode")
    assert not any("stops while it loads" in text for text in plan["warnings"])
    assert not any("stops while it loads" in (lever["reason"] or "") for lever in levers.values())


@pytest.mark.parametrize("version", ["0.5.16", "0.5.17", "0.5.20", "0.5.23"])
def test_no_lever_is_offered_that_the_release_has_no_flag_for(version):
    words = (QWEN_NEXT, "--gpu", "h200", "--tp", "4", "--free-before", "120GiB", "--free-after", "60GiB", "-q")
    plan = planned(*words, "--context", "8k", "--engine-version", version, "--speculative-algorithm", "EAGLE")
    for lever in plan["levers"]:
        flags = [word.split()[0] for word in lever["flags"] if word.startswith("--")]
        known = all(find_flag(flag, version).covers(version) for flag in flags)
        assert known or lever["status"] == "refused", lever["name"]
    refused = {lever["name"]: lever["reason"] for lever in plan["levers"] if lever["status"] == "refused"}
    lacking = {"states_per_path", "replay_verify", "skip_decode_lock"} & set(refused)
    assert bool(lacking) == (version == "0.5.16")


def levers_by_name(flags):
    return {lever.name: lever for lever in levers_for(deployment(QWEN_NEXT, flags, 60.0))({})}


def test_a_larger_chunk_is_larger_also_where_replicas_share_it():
    shared = "--tp 4 --enable-dp-attention --dp-size 4"
    launch = deployment(QWEN_NEXT, shared, 60.0)
    larger = levers_by_name(shared)["larger_prefill_chunk"].changes
    assert launch.resolve(larger).chunked_prefill_size == 2 * launch.resolve({}).chunked_prefill_size
    assert "larger_prefill_chunk" not in levers_by_name("--tp 4 --chunked-prefill-size -1")
