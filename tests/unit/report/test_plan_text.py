"""The plan for people: the first line, and what follows it."""

import pytest

from plan_cases import KIMI_K3, QWEN_NEXT
from poolsplit import api
from poolsplit.report.plan_text import headline, plan_text


def answer(model, flags, rest_gib, **asked):
    words = (*flags.split(), "--mem-fraction-static", "1.0")
    beside = {name: asked.pop(name) for name in ("sessions", "pair", "compare_version", "levers") if name in asked}
    request = api.launch_request(
        model=model, gpu="h200", engine_flags=words, free_before=f"{rest_gib}GiB", free_after=f"{rest_gib}GiB"
    )
    return api.plan(request, workload=asked, **beside)


@pytest.mark.parametrize(
    ("flags", "asked", "line"),
    [
        (
            "--tp 4 --kv-cache-dtype fp8_e4m3",
            {"context": "8192"},
            "431 requests, the state pool binds (KV 47 % used). --mamba-full-memory-ratio 1.92 -> 599 requests (+39 %)",
        ),
        (
            "--tp 4 --kv-cache-dtype fp8_e4m3",
            {"context": "32k"},
            "230 requests, the KV pool binds (state 53 % used). --mamba-full-memory-ratio 0.48 -> 295 requests (+28 %)",
        ),
        (
            "--tp 4 --kv-cache-dtype fp8_e4m3 --mamba-full-memory-ratio 1.92",
            {"context": "8192"},
            "599 requests, both pools bind (state 100 % used, KV 100 % used). No other split runs more: keep {flags}",
        ),
        (
            "--tp 4 --kv-cache-dtype fp8_e4m3",
            {"context": "8192", "concurrency": 64},
            "431 requests, the state pool binds (KV 47 % used). {flags} -> the 64 requests asked for, {kv}",
        ),
    ],
)
def test_the_first_line(flags, asked, line):
    plan = answer(QWEN_NEXT, flags, 81.98, **asked)
    best, now = plan.recommended, plan.current
    more = f"{best.kv_tokens / now.kv_tokens - 1:+.0%}".replace("%", " %")
    assert headline(plan) == line.format(flags=" ".join(best.flags), kv=f"{best.kv_tokens:,} KV tokens ({more})")


def test_a_launch_that_does_not_start_says_so_first():
    line = headline(answer(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 0.7, context="1k"))
    assert line.startswith("does not start as it is (no ")
    assert "->" in line


def test_the_screen_is_plain_text_with_every_part():
    text = plan_text(
        answer(QWEN_NEXT, "--tp 1 --pp-size 4", 60, lengths="p50=2k,p90=32k", compare_version="0.5.16"), explain=True
    )
    for part in (
        "requests by state",
        "stage  layers",
        "what else gives requests",
        "spread:",
        "release:",
        "launch:",
        "step ",
    ):
        assert part in text
    assert "\x1b" not in text
    assert "refused: 4-bit KV" in text


def test_counts_are_per_worker_and_the_first_line_adds_up():
    plan = answer(QWEN_NEXT, "--tp 4 --enable-dp-attention --dp-size 4", 60, context="4k")
    assert headline(plan).startswith(f"{4 * plan.current.running_requests} requests")
    assert "per worker" in plan_text(plan)


def test_a_gain_that_rounds_to_nothing_is_told_in_requests():
    found = answer(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3 --mamba-full-memory-ratio 1.91", 81.98, context="8192")
    before, after = found.current.total_running_requests, found.recommended.total_running_requests
    assert 0 < after - before < before * 0.005
    assert headline(found).endswith(f"(+{after - before} request{'s' if after - before > 1 else ''})")


def test_fewer_than_the_closed_form_gives_are_said_to_be_asked_for():
    found = answer(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3", 81.98, context="8192", concurrency=500)
    assert found.formula_note.endswith("gives 598 requests, more than the 500 that are set here")


def test_what_is_overdrawn_is_no_negative_rest():
    found = answer(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3", 81.98, context="8192")
    text = plan_text(found)
    assert found.free_after_pools_bytes < 0
    assert "more than is free" in text
    assert "-" not in next(line for line in text.splitlines() if "more than is free" in line)
    assert not any("about -" in warning for warning in found.warnings)
