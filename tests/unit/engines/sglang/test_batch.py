"""Batches: lines that are cases, lines that are none, and what is remembered between them."""

import json

import pytest

from poolsplit.engines.sglang.batch import Batch
from poolsplit.engines.sglang.batch_cases import read_case
from poolsplit.engines.sglang.solver import solve
from poolsplit.errors import InputError
from poolsplit.hub import find_config

NEXT = dict(find_config("Qwen/Qwen3-Next-80B-A3B-Instruct").config)
CASE = {
    "id": "one",
    "config": NEXT,
    "args": {"tp_size": 2, "mem_fraction_static": 0.85},
    "platform": "h200",
    "pre_model_load_gb": 139,
    "available_gb": 60.0,
}


@pytest.fixture
def batch():
    return Batch(lambda name: find_config(name).config, solve)


def answer(batch, case):
    return json.loads(batch.answer(json.dumps(case).encode()))


def test_a_case_is_answered_with_the_engines_names(batch):
    got = answer(batch, CASE)
    assert got["ok"] is True
    assert (got["id"], got["max_mamba_cache_size"], got["max_running_requests"]) == ("one", 514, 102)
    assert got["max_total_num_tokens"] == 1_801_819
    assert got["conv_dtype"] == "torch.bfloat16"
    assert got["layer_split"] == [[0, 48]]
    assert got["launcher_reason"] is None


def test_the_release_defaults_to_the_newest_and_can_be_named(batch):
    assert answer(batch, {**CASE, "engine_version": "0.5.16"})["max_mamba_cache_size"] == 515


def test_a_model_is_looked_up_and_a_config_wins(batch):
    named = {**CASE, "model": "Qwen/Qwen3-Next-80B-A3B-Instruct"}
    del named["config"]
    assert answer(batch, named)["max_mamba_cache_size"] == 514
    assert answer(batch, {**CASE, "model": "no/such-model"})["max_mamba_cache_size"] == 514


def test_bare_infinity_is_read_and_equal_configs_are_read_once(batch):
    line = json.dumps({**CASE, "config": {**NEXT, "time_step_limit": [0.0, float("inf")]}}).encode()
    assert b"Infinity" in line
    for _ in range(3):
        assert json.loads(batch.answer(line))["max_mamba_cache_size"] == 514
    assert len(batch._shapes) == 1


def test_a_refusal_is_an_answer_with_stage_reason_figures_and_words(batch):
    got = answer(batch, {**CASE, "available_gb": 10})
    assert (got["ok"], got["stage"], got["reason"]) == (False, "solver[pp_rank=0]", "state_pool_empty")
    assert set(got["figures"]) == {"max_mamba_cache_size", "rest_gib", "slot_mib"}
    assert "slot" in got["message"]
    assert "--mem-fraction-static" in got["hint"]
    refused = answer(batch, {**CASE, "args": {"mamba_radix_cache_strategy": "no_buffer", "page_size": 16}})
    assert (refused["stage"], refused["launcher_reason"]) == ("server_args", None)


def test_a_launcher_refusal_stands_beside_the_solvers_answer_and_beside_its_refusal(batch):
    args = {**CASE["args"], "pp_size": 2, "speculative_algorithm": "NGRAM"}
    assert answer(batch, {**CASE, "args": args})["launcher_reason"] == "pp_with_speculation"
    refused = answer(batch, {**CASE, "args": args, "available_gb": 10})
    assert (refused["ok"], refused["launcher_reason"]) == (False, "pp_with_speculation")


@pytest.mark.parametrize(
    ("line", "needle"),
    [
        (b"{", "not JSON"),
        (b"[1]", "not a case"),
        (b'{"id": 7}', "pre_model_load_gb"),
        (json.dumps({**CASE, "args": {"no_such_flag": 1}}).encode(), "no_such_flag"),
        (json.dumps({**CASE, "args": {"tp_size": "2"}}).encode(), "--tp-size"),
        (json.dumps({**CASE, "platform": "abacus"}).encode(), "abacus"),
        (json.dumps({**CASE, "config": [1]}).encode(), "not an object"),
        (json.dumps({**CASE, "config": {"model_type": "no_such_family"}}).encode(), "no_such_family"),
        (json.dumps({**CASE, "config": None}).encode(), "names no model"),
        (json.dumps({**CASE, "set": {"no_such_field": 1}}).encode(), "no_such_field"),
        (json.dumps({**CASE, "checkpoint_kv_cache_quant_algo": "INT3"}).encode(), "INT3"),
        (b'{"x": Infinity}', "not a case"),
        (b"[Infinity]", "not a case"),
    ],
)
def test_lines_that_cannot_be_read_say_why_and_are_counted(batch, line, needle):
    got = json.loads(batch.answer(line))
    assert (got["ok"], got["stage"], got["reason"]) == (False, "input", "unreadable")
    assert needle in got["message"]
    assert batch.unreadable == 1


def test_an_unreadable_line_keeps_its_id(batch):
    assert json.loads(batch.answer(b'{"id": 7}'))["id"] == 7
    assert json.loads(batch.answer(b"{"))["id"] is None


def test_resolved_arguments_can_be_forced(batch):
    assert answer(batch, {**CASE, "set": {"page_size": 64}})["max_total_num_tokens"] % 64 == 0


def test_a_checkpoint_may_declare_fp8_rows(batch):
    got = answer(batch, {**CASE, "checkpoint_kv_cache_quant_algo": "FP8"})
    assert got["kv_cache_dtype"] == "torch.float8_e4m3fn"
    assert got["cell_size"] == [6144]


def test_one_free_size_a_stage_and_its_least():
    case = read_case(json.dumps({**CASE, "available_gb": [60, 50], "rank_reduce_min": False}).encode())
    assert case.memory.per_stage_gib(2) == (60.0, 50.0)
    shared = read_case(json.dumps({**CASE, "available_gb": [60, 50]}).encode())
    assert shared.memory.per_stage_gib(2) == (50.0, 50.0)


def test_the_size_of_a_card_can_be_given():
    case = read_case(json.dumps({**CASE, "device_mem_mib": 100}).encode())
    assert (case.device.memory_mib, case.device.compute_capability) == (100, (9, 0))
    with pytest.raises(InputError, match="abacus"):
        _ = read_case(json.dumps({**CASE, "platform": "abacus"}).encode()).device


def test_a_draft_is_read_once_and_priced(batch):
    drafting = {
        **CASE,
        "draft_config": NEXT,
        "args": {**CASE["args"], "speculative_algorithm": "EAGLE", "context_length": 4096},
    }
    first, second = answer(batch, drafting), answer(batch, drafting)
    assert first == second
    assert first["cell_size"] == [12_288 + 1_024]
    assert len(batch._drafts) == 1
    named = {**drafting, "draft_model": "Qwen/Qwen3-Next-80B-A3B-Instruct"}
    del named["draft_config"]
    assert answer(batch, named)["cell_size"] == first["cell_size"]


def test_a_partition_of_the_layers_is_read_from_the_environment(batch):
    staged = {**CASE, "args": {**CASE["args"], "pp_size": 2}}
    assert answer(batch, {**staged, "env": {"SGLANG_PP_LAYER_PARTITION": "20,28"}})["layer_split"] == [
        [0, 20],
        [20, 48],
    ]
    refused = answer(batch, {**staged, "env": {"SGLANG_PP_LAYER_PARTITION": "20,20"}})
    assert (refused["reason"], refused["figures"]) == ("pp_partition_sum", {"sum": 40, "layers": 48})


@pytest.mark.parametrize(
    ("args", "window"),
    [
        ({}, None),
        ({"disable_radix_cache": True, "max_running_requests": 8}, 8 * (512 + 128 + 1 + 1) + 2 * 8192 + 1),
    ],
)
def test_a_windowed_model_has_two_pools(batch, args, window):
    case = {
        **CASE,
        "model": "thinkingmachines/Inkling-Small",
        "args": {"tp_size": 4, "mem_fraction_static": 0.85, **args},
    }
    del case["config"]
    got = answer(batch, case)
    assert got["full_max_total_num_tokens"] == got["max_total_num_tokens"] == got["logical_tokens"]
    assert got["swa_max_total_num_tokens"] == (window or int(got["max_total_num_tokens"] * 0.1))
    early = answer(batch, {**case, "engine_version": "0.5.20", "args": {**case["args"], "pp_size": 2}})
    assert len(set(early["cell_size"])) == 1
