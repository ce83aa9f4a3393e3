"""What is wrong with a plan's input is said, with a hint and its exit code."""

import pytest

from plan_cases import planned
from poolsplit.cli.app import run
from poolsplit.errors import PoolsplitError

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
HANDED = ("--gpu", "h200", "--tp", "4", "--kv-cache-dtype", "fp8_e4m3", "--mem-fraction-static", "1.0")
SESSIONS = ("--sessions", "10", "--session-tokens", "4k")
REST = ("--free-before", "81.98GiB", "--free-after", "81.98GiB")


@pytest.mark.parametrize(
    ("words", "exit_code", "needles"),
    [
        (("Qwen/Qwen3-Nxt-80B", "--gpu", "h200", "--context", "8k"), 2, ("Qwen3-Nxt",)),
        (("qwen3-nxt-80b", "--gpu", "h200", "--context", "8k"), 2, ("Qwen3-Next-80B",)),
        ((QWEN, "--gpu", "h2000", "--context", "8k"), 2, ("h200",)),
        ((QWEN, "--context", "8k"), 2, ("no card is named",)),
        ((QWEN, "--gpu", "h200"), 2, ("no length is given",)),
        ((QWEN, "--gpu", "h200", "--context", "8k", "--lengths", "p50=2k"), 2, ("2 ways",)),
        ((QWEN, "--gpu", "h200", "--context", "8k", "--free-before", "80"), 2, ("missing",)),
        ((QWEN, *HANDED, "--context", "8k", "--free-before", "80", "--free-after", "80"), 2, ("has no unit",)),
        ((QWEN, *HANDED, "--context", "8k", "--free-before", "80GiB", "--free-after", "90GiB"), 2, ("more is free",)),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--weights", "20GiB"), 2, ("both given",)),
        ((QWEN, *HANDED, *REST, "--context", "300k"), 2, ("307,200 tokens are longer", "262,144")),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--context-length", "4096"), 2, ("context length of 4,096",)),
        ((QWEN, *HANDED, *REST, "--context", "0"), 2, ("nothing to keep",)),
        ((QWEN, "--gpu", "h200", "--tp", "4", "--context", "8k", "--", "sglang", "serve", "m"), 2, ("before `--`",)),
        ((QWEN, *HANDED, *REST, "--context", "64k", "--concurrency", "4000"), 3, ("do not fit", "such requests fit")),
        ((QWEN, "--gpu", "rtx4090", "--context", "8k"), 1, ("do not fit",)),
        (
            (QWEN, *HANDED, *REST, "--context", "8k", "--page-size", "64", "--mamba-radix-cache-strategy", "no_buffer"),
            1,
            ("no_buffer",),
        ),
        (("--context", "8k", "--gpu", "h200", "--", "vllm", "serve", "m"), 2, ("no launch command",)),
        *(
            ((QWEN, *HANDED, *REST, "--context", "8k", *SESSIONS, *more), 2, ("are counted from",))
            for more in (("--margin", "nan"), ("--margin", "inf"), ("--checkpoints-per-session", "nan"))
        ),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--margin", "0.1"), 2, ("number of kept sessions is missing",)),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--compare-version", "abc"), 2, ("--compare-version", "abc")),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--engine-version", ""), 2, ("not a release number",)),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--live-sessions", "4"), 2, ("no goal",)),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--trace-mode", "closed"), 2, ("no goal",)),
        ((QWEN, *HANDED, *REST, "--trace", "t", "--goal", "recompute", "--pair"), 2, ("`--pair` does not go",)),
        (("--boot-log", "nowhere.log", "--context", "8k"), 2, ("nowhere.log",)),
        (("--boot-log", "any.log", "--context", "8k", *REST), 2, ("`--free-before` stands beside --boot-log",)),
        (("--boot-log", "any.log", "--context", "8k", "--weights", "9GiB"), 2, ("`--weights` stands beside",)),
        ((QWEN, *HANDED, *REST, "--context", "8k", "--model-path", "moonshotai/Kimi-K3"), 2, ("two models are named",)),
    ],
)
def test_what_is_wrong_is_said(words, exit_code, needles, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(PoolsplitError) as caught:
        run(["plan", *words, "-q"])
    error = caught.value
    assert error.exit_code == exit_code
    assert error.hint
    for needle in needles:
        assert needle in f"{error} {error.hint}"


def test_some_requests_beyond_the_context_length_are_a_warning():
    plan = planned(QWEN, *HANDED, *REST, "--lengths", "p50=8k,p99=300k", "--no-levers")
    assert any("longer than the context length of 262,144" in text for text in plan["warnings"])
    whole = planned(QWEN, *HANDED, *REST, "--context", "256k", "--no-levers")
    assert not any("context length" in text for text in whole["warnings"])


def test_lengths_from_standard_input(monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("2048\n4096\n"))
    plan = planned(QWEN, *HANDED, *REST, "--lengths", "-", "--no-levers")
    assert plan["workload"]["mean_tokens"] == 3072
