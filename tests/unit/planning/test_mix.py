"""A spread of lengths against its mean: regret, starved short requests, and which way a spread pushes the ratio."""

import pytest

from plan_cases import QWEN_NEXT, deployment, question, traffic
from poolsplit.planning.choose import choose
from poolsplit.planning.mix import mean_running, mix_figures
from poolsplit.planning.optimum import best_ratio
from poolsplit.planning.outcome import evaluate
from poolsplit.workload.lengths import mix_of
from poolsplit.workload.overflow import overflow_probability
from poolsplit.workload.traffic import Traffic

SHORT_AND_LONG = mix_of([(2048, 0.9), (131_072, 0.1)], origin="file")


def qwen():
    return deployment(QWEN_NEXT, "--tp 4 --kv-cache-dtype fp8_e4m3", 81.98)


def figures_of(mix, overflow=0.05):
    launch, asked = qwen(), Traffic(lengths=mix, overflow_fraction=overflow)
    choice = choose(question(launch, asked))
    return launch, asked, choice, mix_figures(question(launch, asked), choice.recommended)


def test_the_mean_of_a_split_crowd_is_wrong():
    _, asked, choice, figures = figures_of(SHORT_AND_LONG)
    best = choice.recommended
    assert figures.promised_by_mean > best.running_requests
    promised = figures.promised_by_mean
    by_mean = best_ratio(question(qwen(), traffic(round(SHORT_AND_LONG.mean_tokens)))).outcome
    tokens = by_mean.solution.pools.logical_tokens
    assert figures.overflow_of_mean_plan == pytest.approx(overflow_probability(SHORT_AND_LONG, promised, tokens))
    assert figures.overflow_of_mean_plan > 5 * asked.overflow_fraction
    regret = best.running_requests - figures.running_at_mean_ratio
    assert regret > 0
    assert figures.running_at_mean_ratio == evaluate(qwen(), asked, by_mean.changes).running_requests


def test_the_promise_of_the_plan_is_kept():
    _, asked, choice, _ = figures_of(SHORT_AND_LONG)
    best = choice.recommended
    tokens = best.solution.pools.logical_tokens
    assert overflow_probability(SHORT_AND_LONG, best.kv_requests, tokens) <= asked.overflow_fraction
    assert overflow_probability(SHORT_AND_LONG, best.kv_requests + 1, tokens) > asked.overflow_fraction


def test_a_ratio_for_long_contexts_starves_short_requests():
    launch = qwen()
    for_long = best_ratio(question(launch, traffic(131_072)))
    short = evaluate(launch, traffic(2048), launch.ratio_changes(for_long.ratio))
    best = choose(question(launch, traffic(2048))).recommended
    assert short.binding == "state"
    assert short.running_requests < 0.3 * best.running_requests
    assert short.kv_used_fraction < 0.05


def test_more_accepted_overflow_promises_more_and_raises_the_ratio():
    _, _, strict, _ = figures_of(SHORT_AND_LONG, overflow=0.01)
    _, _, loose, _ = figures_of(SHORT_AND_LONG, overflow=0.4)
    assert loose.recommended.running_requests > strict.recommended.running_requests
    assert loose.recommended.solution.state_to_kv_ratio > strict.recommended.solution.state_to_kv_ratio


def test_on_average_a_higher_ratio_gains_where_requests_are_long():
    """The balance of one more slot against one more row tips to slots where the ratio is below one."""
    launch, asked, choice, figures = figures_of(SHORT_AND_LONG)
    ratio = choice.recommended.solution.state_to_kv_ratio
    assert ratio < 1
    by_factor = {point.factor: point for point in figures.losses}
    assert by_factor[1.1].expected_running > by_factor[1.0].expected_running > by_factor[0.9].expected_running
    higher = evaluate(launch, asked, launch.ratio_changes(ratio * 1.1))
    assert by_factor[1.1].expected_running == pytest.approx(mean_running(asked, higher))
    assert "a higher ratio runs more on average" in figures.text or "already costs more" in figures.text


def test_one_length_has_no_loss_of_promise():
    launch = qwen()
    choice = choose(question(launch, traffic(8192)))
    assert mean_running(traffic(8192), choice.recommended) == choice.recommended.running_requests
