"""Lengths: files, pairs, percentiles."""

import pytest

from poolsplit.errors import InputError
from poolsplit.workload.lengths import mix_of, read_length_lines, read_percentiles, single_length


def test_one_length():
    mix = single_length(9216)
    assert (mix.mean_tokens, mix.longest_tokens, mix.is_single) == (9216, 9216, True)


def test_totals_and_pairs_from_lines():
    totals = read_length_lines(["2048", "", "32k", "2,048"[:1]])
    assert [tokens for tokens, _ in totals.points] == [2, 2048, 32768]
    pairs = read_length_lines(["input,output", "1000,24", "3000,72"])
    assert [tokens for tokens, _ in pairs.points] == [1024, 3072]
    assert pairs.input_tokens_mean == 2000


def test_percentiles_rise_in_straight_lines():
    mix = read_percentiles("p50=2k,p90=32k,p99=128k")
    assert mix.quantile_tokens(0.5) == 2048
    assert mix.quantile_tokens(0.9) == pytest.approx(32768, rel=0.02)
    assert mix.longest_tokens == 131072
    assert sum(share for _, share in mix.points) == pytest.approx(1.0)
    # Half at 2k, 40 % on the line to 32k, 9 % on the line to 128k, 1 % at 128k.
    assert mix.mean_tokens == pytest.approx(0.5 * 2048 + 0.4 * 17408 + 0.09 * 81920 + 0.01 * 131072, rel=1e-3)


def test_pages_round_each_length_up():
    mix = mix_of([(1, 1), (64, 1), (65, 2)], origin="file").paged(64)
    assert mix.points == ((64, 0.5), (128, 0.5))


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: read_percentiles("p50=2k,p40=4k"), "do not rise"),
        (lambda: read_percentiles("50=2k"), "not a percentile"),
        (lambda: read_percentiles(""), "no percentile"),
        (lambda: read_percentiles("p50=2x"), "not a whole number"),
        (lambda: read_length_lines(["1,2,3"]), "more than two columns"),
        (lambda: read_length_lines(["12", "many"]), "not a whole number"),
        (lambda: read_length_lines([]), "no request"),
        (lambda: single_length(0), "nothing to keep"),
    ],
)
def test_what_cannot_be_read_is_said(read, words):
    with pytest.raises(InputError, match=words) as caught:
        read()
    assert caught.value.hint
