"""`poolsplit diff` as a person runs it."""

import pytest

from support import GOLDEN

LOGS = GOLDEN / "bootlogs"
QWEN = str(LOGS / "sgl-qwen35-9b-tp2-4090.log")
A = (
    "python -m sglang.launch_server --model-path Qwen/Qwen3.5-9B --tp 2 --mem-fraction-static 0.8 "
    "--max-running-requests 64"
)
B = A.replace("0.8 ", "0.85 ").replace("--max-running-requests 64", "--mamba-full-memory-ratio 2 --port 9000")


def test_two_launches(poolsplit):
    document = poolsplit("diff", A, B, "--gpu", "rtx4090", "--json").document
    changes = {change["field"]: change for change in document["changes"]}
    assert set(changes) == {"mem_fraction_static", "max_running_requests", "mamba_full_memory_ratio"}
    assert (
        changes["mamba_full_memory_ratio"]["effect_requests"] > 0 > changes["mamba_full_memory_ratio"]["effect_tokens"]
    )
    assert changes["mem_fraction_static"]["effect_tokens"] > 0
    assert document["explains_requests"] == document["explains_tokens"] == "mamba_full_memory_ratio"
    assert document["b"]["requests"] > document["a"]["requests"]


def test_effects_are_those_of_resolve(poolsplit):
    memory = ("--gpu", "h200", "--free-before", "139GiB", "--free-after", "120GiB")
    fields = ("--tp", "2", "--mem-fraction-static", "0.8", "--max-running-requests", "64")
    found = poolsplit("resolve", "Qwen/Qwen3.5-9B", *memory, *fields, "--json").document
    more = poolsplit(
        "resolve", "Qwen/Qwen3.5-9B", *memory, *fields, "--mamba-full-memory-ratio", "2", "--json"
    ).document
    (change,) = poolsplit("diff", A, A + " --mamba-full-memory-ratio 2", *memory, "--json").document["changes"]
    assert change["effect_tokens"] == more["max_total_num_tokens"] - found["max_total_num_tokens"]
    assert change["effect_requests"] == more["max_running_requests"] - found["max_running_requests"]


def test_nothing_differs(poolsplit):
    result = poolsplit("diff", A, A, "--gpu", "rtx4090", "--check")
    assert (result.exit_code, result.stdout) == (0, "nothing differs\n")


def test_check_fails_on_a_difference(poolsplit):
    result = poolsplit("diff", A, B, "--gpu", "rtx4090", "--check")
    assert result.exit_code == 1
    assert "the difference in requests and tokens comes most from mamba_full_memory_ratio" in result.stdout


def test_without_a_card_the_effects_are_not_known(poolsplit):
    result = poolsplit("diff", A, B, "--json")
    assert {change["effect_requests"] for change in result.document["changes"]} == {None}
    assert "effects are not known" in result.document["warnings"][0]


def test_two_logs(poolsplit, tmp_path):
    dump = "server_args={{'model_path': 'Qwen/Qwen3.5-9B', 'tp_size': 2, 'mem_fraction_static': 0.8, 'mamba_radix_cache_strategy': 'no_buffer', 'disable_overlap_schedule': True, 'max_running_requests': {}}}\n"  # noqa: E501
    text = (LOGS / "sgl-qwen35-9b-tp2-4090.log").read_text()
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    first.write_text(dump.format("64") + text)
    second.write_text(dump.format("16") + text.replace("max_running_requests=62", "max_running_requests=16"))
    document = poolsplit("diff", str(first), str(second), "--json").document
    assert (document["a"]["kind"], document["a"]["requests"], document["b"]["requests"]) == ("log", 62, 16)
    (change,) = document["changes"]
    assert (change["field"], change["a"], change["b"]) == ("max_running_requests", 64, 16)
    assert change["effect_requests"] in (-45, -46)  # the rules give this older build's slots to within one
    assert document["explains_requests"] == "max_running_requests"


def test_a_log_and_a_launch(poolsplit):
    result = poolsplit("diff", QWEN, A, "--gpu", "rtx4090", "--json")
    assert (result.document["a"]["kind"], result.document["b"]["kind"]) == ("log", "launch")
    assert result.document["a"]["requests"] == 62
    assert "shows no flags" in result.document["warnings"][0]


def test_an_environment_variable_is_a_change(poolsplit):
    name = "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK"
    command = A.replace(" --max-running-requests 64", "")
    document = poolsplit("diff", command, f"{name}=1 {command}", "--gpu", "rtx4090", "--json").document
    (change,) = document["changes"]
    assert (change["field"], change["a"], change["b"]) == (name, None, "1")
    assert change["effect_requests"] == document["b"]["requests"] - document["a"]["requests"] > 0


def test_a_flag_that_no_release_knows_is_said(poolsplit):
    document = poolsplit("diff", A, f"{A} --no-such-flag 3", "--gpu", "rtx4090", "--json").document
    assert any("no-such-flag" in warning for warning in document["warnings"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no start of SGLang"),
        ("hello\n", "no start of SGLang"),
        ("INFO vllm GPU KV cache size: 1,000 tokens\n", "a log of vllm"),
        ('{"a": ' + "[" * 100_000, "the document is damaged"),
    ],
)
def test_a_file_that_cannot_be_compared_is_named(poolsplit, tmp_path, content, words):
    path = tmp_path / "file"
    path.write_text(content)
    result = poolsplit("diff", A, str(path))
    result.assert_error(2)
    assert words in result.stderr
    assert str(path) in result.stderr


def test_a_script_with_a_launch_is_a_launch(poolsplit, tmp_path):
    path = tmp_path / "serve.sh"
    path.write_text(f"#!/bin/sh\n{A}\n")
    document = poolsplit("diff", str(path), B, "--gpu", "rtx4090", "--json").document
    assert [document[side]["kind"] for side in ("a", "b")] == ["launch", "launch"]
    assert document["a"]["requests"] is not None


@pytest.mark.parametrize("arguments", [("missing.log", A), (A,), (A, "hello there")])
def test_what_cannot_be_compared(poolsplit, arguments):
    poolsplit("diff", *arguments).assert_error(2)


def test_a_model_named_as_its_own_draft_is_priced(poolsplit):
    launch = A.replace("--mem", "--speculative-algorithm EAGLE --mem")
    named = f"{launch} --speculative-draft-model-path Qwen/Qwen3.5-9B"
    (change,) = poolsplit("diff", launch, named, "--gpu", "h200", "--json").document["changes"]
    assert change["effect_tokens"] < 0
    other = named.replace("path Qwen/Qwen3.5-9B", "path Qwen/Qwen3.5-4B")
    changes = poolsplit("diff", launch, other, "--gpu", "h200", "--json").document["changes"]
    assert changes[0]["effect_tokens"] is None
