"""Figures that others published about the split, out of the exact solver."""

import pytest

from plan_cases import KIMI_K3, QWEN_NEXT, deployment, question, traffic
from poolsplit.planning.balance import closed_form_ratio, formula_ratio, token_equiv, token_equiv_of_log
from poolsplit.planning.choose import choose
from poolsplit.planning.optimum import best_ratio
from poolsplit.planning.outcome import evaluate

PRINTED = {"state_gib": 13.5, "state_slots": 257, "kv_gib": 15.03, "kv_tokens": 1_167_552}
"""0.46 GB of conv, 13.04 GB of state, as one log prints them."""


def test_token_equiv_by_the_published_division_and_by_the_right_one():
    assert int(token_equiv_of_log(**PRINTED, padding_slots=0)) == 4080
    assert round(token_equiv_of_log(**PRINTED, padding_slots=1)) == 4065


def test_the_published_text_forgets_the_conv_part():
    without = token_equiv_of_log(**{**PRINTED, "state_gib": 13.04}, padding_slots=0)
    assert int(without) == 3941


def test_token_equiv_of_the_exact_geometry():
    solved = deployment(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 28.53).solve({})
    assert solved.pools.state.charged_bytes_per_slot == 56_171_520
    assert solved.pools.stages[0].kv_bytes_per_token == 13_824
    assert int(token_equiv(solved)) == 4063


@pytest.mark.parametrize("worth", [4063, 4065, 4080])
def test_the_closed_form_at_9216_tokens(worth):
    words = {"slots_per_request": 4, "draft_states": 0, "token_equiv": worth, "tokens_per_request": 9216}
    assert 1.76 <= closed_form_ratio(**words) <= 1.8
    assert round(closed_form_ratio(**words, dcp_size=8)) == 14


def test_the_clamp_and_the_kv_cap_at_ratio_1_8():
    flags = "--tp 8 --kv-cache-dtype fp8_e4m3 --disable-overlap-schedule --mamba-radix-cache-strategy extra_buffer"
    kimi = deployment(KIMI_K3, flags, 28.9)
    outcome = evaluate(kimi, traffic(9216), kimi.ratio_changes(1.8))
    assert outcome.solution.pools.slots_per_request == 4
    assert outcome.solution.pools.state_slots == 354
    assert (outcome.state_requests, outcome.kv_requests, outcome.running_requests) == (88, 87, 87)
    assert outcome.binding == "kv"


@pytest.mark.parametrize(("slots", "requests"), [(257, 51), (451, 90), (474, 94)])
def test_slots_are_not_requests(slots, requests):
    kimi = deployment(KIMI_K3, "--tp 8 --kv-cache-dtype fp8_e4m3", 60.0)
    outcome = evaluate(kimi, traffic(1024), kimi.pin_changes(slots))
    assert outcome.solution.pools.slots_per_request == 5
    assert (outcome.state_requests, outcome.granted) == (requests, requests)


@pytest.mark.parametrize(
    ("tokens", "ratio"), [(2048, 10.0), (4096, 5.0), (8192, 2.5), (32768, 0.62), (65536, 0.31), (131072, 0.16)]
)
def test_the_published_table_by_length(tokens, ratio):
    exact = closed_form_ratio(slots_per_request=5, draft_states=0, token_equiv=4080, tokens_per_request=tokens)
    assert float(f"{exact:.2g}") == ratio


@pytest.mark.parametrize(
    ("tokens", "now", "best", "ratio", "formula", "by_formula"),
    [
        (2048, 431, 806, 7.67, 7.676, 806),
        (8192, 431, 599, 1.92, 1.9189, 598),
        (32768, 230, 295, 0.48, 0.4797, 295),
    ],
)
def test_qwen3_next_on_an_h200(tokens, now, best, ratio, formula, by_formula):
    qwen = deployment(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3", 81.98)
    choice = choose(question(qwen, traffic(tokens)))
    pools = choice.current.solution.pools
    assert (pools.state_slots, pools.logical_tokens, pools.max_running_requests) == (2157, 7_542_291, 431)
    assert choice.current.running_requests == now
    assert choice.recommended.running_requests == best
    assert choice.recommended.solution.state_to_kv_ratio == ratio
    assert choice.formula_ratio == pytest.approx(formula, abs=5e-4)
    assert choice.formula.running_requests == by_formula


def test_no_ratio_beats_the_recommended_one():
    qwen = deployment(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3", 81.98)
    best = best_ratio(question(qwen, traffic(8192)))
    for step in range(-200, 201):
        ratio = best.ratio * (1 + step / 1000)
        assert evaluate(qwen, traffic(8192), qwen.ratio_changes(ratio)).running_requests <= 599


def test_speculation_puts_draft_states_into_the_closed_form():
    qwen = deployment(QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE --max-running-requests 4000", 60.0)
    solved = qwen.solve({})
    assert solved.balance_draft_states == 4
    assert formula_ratio(solved, 8192) == pytest.approx(9 * token_equiv(solved) / 8192)
