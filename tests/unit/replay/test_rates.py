"""Rates fitted from observations."""

import pytest

from poolsplit.engines.speed_lines import SpeedLines
from poolsplit.errors import InputError
from poolsplit.replay.rates import beyond, fit_decode, fit_prefill


def test_full_batches_tell_the_prefill_rate():
    small = [(100, 900.0)] * 50
    full = [(8192, rate) for rate in (19_000.0, 20_000.0, 21_000.0, 20_000.0, 20_000.0)] * 2
    fitted = fit_prefill(SpeedLines(prefill=(*small, *full), prefill_lines=61))
    assert (fitted.tokens_per_s, fitted.lines) == (20_000.0, 10)


def test_decode_has_a_median_for_each_count_seen_often_enough():
    at = {1: [80.0] * 5, 32: [40.0, 45.0, 45.0, 46.0, 200.0], 7: [1.0, 1.0]}
    fitted = fit_decode(SpeedLines(decode=tuple((n, rate) for n, rates in at.items() for rate in rates)))
    assert fitted.tokens_per_s == ((1, 80.0), (32, 45.0))
    assert (fitted.lines, fitted.most_running) == (10, 32)


def test_too_few_lines_are_refused_with_their_number():
    nine = SpeedLines(prefill=((8192, 2e4),) * 9, decode=((4, 50.0),) * 9, prefill_lines=30, decode_lines=40)
    with pytest.raises(InputError, match=r"30 prefill lines, of which 9 .* 10 are needed"):
        fit_prefill(nine)
    with pytest.raises(InputError, match=r"40 decode lines, of which 9 .* 10 are needed"):
        fit_decode(nine)
    with pytest.raises(InputError, match="0 prefill lines"):
        fit_prefill(SpeedLines())


def test_running_more_than_was_seen_is_said():
    fitted = fit_decode(SpeedLines(decode=((4, 50.0),) * 10))
    assert beyond(fitted, [3, 4]) == ()
    assert "up to 4" in beyond(fitted, [9])[0]
