"""Overflow of a sum of lengths, held against plain convolution."""

from itertools import product

import pytest

from poolsplit.workload.lengths import mix_of, single_length
from poolsplit.workload.overflow import expected_running, overflow_probability, requests_held


def by_convolution(mix, requests, kv_tokens):
    sums = {0: 1.0}
    for _ in range(requests):
        after = {}
        for (total, mass), (tokens, share) in product(sums.items(), mix.points):
            after[total + tokens] = after.get(total + tokens, 0.0) + mass * share
        sums = after
    return sum(mass for total, mass in sums.items() if total > kv_tokens)


SHORT_AND_LONG = mix_of([(2048, 0.9), (131072, 0.1)], origin="file")
THREE = mix_of([(5, 1), (7, 2), (30, 1)], origin="file")


@pytest.mark.parametrize("requests", [1, 2, 5, 20])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("mix", [SHORT_AND_LONG, THREE])
def test_it_is_the_convolution(mix, requests, share):
    kv_tokens = int(requests * (mix.points[0][0] + share * (mix.longest_tokens - mix.points[0][0])))
    assert overflow_probability(mix, requests, kv_tokens) == pytest.approx(
        by_convolution(mix, requests, kv_tokens), abs=1e-9
    )


def test_many_requests_of_a_wide_mix():
    mix = mix_of([(1000 + 37 * at, 1.0) for at in range(24)], origin="file")
    for kv_tokens in (69_000, 71_000, 74_000):
        assert overflow_probability(mix, 50, kv_tokens) == pytest.approx(by_convolution(mix, 50, kv_tokens), abs=2e-3)


def test_it_rises_with_requests_and_falls_with_tokens():
    rising = [overflow_probability(SHORT_AND_LONG, n, 3_000_000) for n in (50, 100, 200, 230, 400)]
    assert rising == sorted(rising)
    falling = [overflow_probability(SHORT_AND_LONG, 200, tokens) for tokens in (2_000_000, 3_000_000, 4_000_000)]
    assert falling == sorted(falling, reverse=True)


def test_requests_held_is_the_last_that_keeps_the_promise():
    held = requests_held(SHORT_AND_LONG, 3_000_000, 0.05)
    assert overflow_probability(SHORT_AND_LONG, held, 3_000_000) <= 0.05
    assert overflow_probability(SHORT_AND_LONG, held + 1, 3_000_000) > 0.05
    assert held < 3_000_000 / SHORT_AND_LONG.mean_tokens
    assert requests_held(single_length(2048), 7_542_291, 0.05) == 3682


def test_a_pool_too_small_for_the_longest_request():
    assert requests_held(mix_of([(10, 0.5), (100, 0.5)], origin="file"), 50, 0.05) == 0


def test_expected_running_is_the_sum_of_what_fits():
    exact = sum(1.0 - by_convolution(THREE, n, 120) for n in range(1, 13))
    assert expected_running(THREE, 120, 12) == pytest.approx(exact, abs=1e-6)
    assert expected_running(single_length(10), 95, 20) == 9.0
