"""Marginals, surface and budget line over made-up replays whose answers are known."""

import math

import pytest

from poolsplit.errors import InputError
from poolsplit.surface.cells import ENDLESS, Outcome, Replays, Split
from poolsplit.surface.floors import least_kv, least_states
from poolsplit.surface.grid import spaced
from poolsplit.surface.line import (
    SPLITS,
    Budget,
    best_by,
    coarse_best,
    middle_of_valley,
    pattern_search,
    shares,
    splits_of,
)
from poolsplit.surface.marginals import trace_curves
from poolsplit.surface.surface import (
    LEAST_CONFIRMED,
    doubtful,
    from_pass,
    replay_cells,
    with_marginals,
    with_outcomes,
)

TOTAL = 1_000_000
LEAST = Split(state_slots=20, kv_tokens=1000)
SIZES = (20, 40, 80, 120, 160, 320), (1000, 2000, 4000, 8000, 16000)


def cliff(size, at, low=900_000, high=50_000):
    """Recomputed tokens that fall from high to low within a tenth of a size."""
    return high + (low - high) / (1 + math.exp(min(50.0, (size - at) / (0.02 * at))))


def recomputed(split):
    return max(cliff(split.state_slots, 120), cliff(split.kv_tokens, 6000))


def made(calls=None, penalty=0.0):
    def run(splits):
        if calls is not None:
            calls.extend(splits)
        found = []
        for split in splits:
            out = (
                "state"
                if split.state_slots < LEAST.state_slots
                else "kv"
                if split.kv_tokens < LEAST.kv_tokens
                else None
            )
            both = penalty if max(split.state_slots, split.kv_tokens) < ENDLESS else 0.0
            found.append(Outcome(cached_tokens=round(TOTAL - recomputed(split) * (1 + both)), out_of=out))
        return found

    return Replays(run=run, input_tokens=TOTAL)


def curves(replays, count=16):
    return trace_curves(replays, {"state": (20, 2000), "kv": (1000, 100_000)}, count)


def test_floors_are_found_from_guesses_on_either_side():
    for guess in (1, 3, 20, 21, 500):
        assert least_states(made(), guess) == 20
    assert 1000 <= least_kv(made(), 77) <= 1016


def test_bisection_goes_where_the_curve_is_steep():
    curve = curves(made())["state"]
    assert len(curve.sizes) == 16
    assert sum(100 <= size <= 140 for size in curve.sizes) >= 8
    for size in (20, 60, 110, 120, 130, 400, 2000, 9999):
        assert math.log(curve.at(size) / recomputed(Split(state_slots=size, kv_tokens=ENDLESS))) == pytest.approx(
            0, abs=0.1
        )


def test_below_the_least_size_nothing_is_known():
    assert curves(made())["kv"].at(999) == math.inf


def test_a_flat_curve_takes_no_replays_beyond_its_ends():
    calls = []
    flat = Replays(
        run=lambda splits: (calls.extend(splits), [Outcome(cached_tokens=5, out_of=None) for _ in splits])[1],
        input_tokens=10,
    )
    assert curves(flat)["state"].at(77) == pytest.approx(5)
    assert len(calls) == 4


def test_marginals_give_the_surface_and_replays_show_their_error():
    replays = made(penalty=0.02)
    surface = with_marginals(from_pass(SIZES, [[TOTAL] * 5] * 6, TOTAL), curves(replays))
    with pytest.raises(InputError, match="cannot show its error"):
        surface.checked()
    splits = doubtful(surface, LEAST_CONFIRMED)
    assert len(set(splits)) == LEAST_CONFIRMED
    better = replay_cells(surface, replays, splits).checked()
    assert len(better.errors) == LEAST_CONFIRMED
    assert {e.better_method for e in better.errors} == {"replay"}
    assert all(e.error_tokens > 0 for e in better.errors)
    for split in splits:
        row, column = SIZES[0].index(split.state_slots), SIZES[1].index(split.kv_tokens)
        assert better.method[row][column] == "replay"
        assert better.cached_tokens[row][column] == replays.one(split).cached_tokens


def test_a_lesser_method_never_replaces_a_better_one():
    replays = made()
    surface = replay_cells(from_pass(SIZES, [[1] * 5] * 6, TOTAL), replays, [Split(state_slots=40, kv_tokens=4000)])
    again = with_outcomes(
        surface, {Split(state_slots=40, kv_tokens=4000): Outcome(cached_tokens=3, out_of=None)}, "replay"
    )
    assert again == surface


def test_cells_that_do_not_fit_are_unknown():
    sizes = ((5, 40), (500, 4000))
    surface = with_marginals(from_pass(sizes, [[1, 1], [1, 1]], TOTAL), curves(made()))
    assert surface.cached_tokens[0] == (None, None)
    assert surface.cached_tokens[1][0] is None
    assert surface.cached_tokens[1][1] is not None


def test_refining_ends_when_every_cell_is_replayed():
    surface = from_pass(SIZES, [[1] * 5] * 6, TOTAL)
    replays = made()
    while splits := doubtful(surface, 7):
        surface = replay_cells(surface, replays, splits)
    assert {m for line in surface.method for m in line} == {"replay"}


@pytest.mark.parametrize("price", [10, 50, 200])
@pytest.mark.parametrize("total", [9_000, 14_000, 20_000, 60_000])
def test_the_search_finds_the_best_of_the_line(price, total):
    splits = splits_of(Budget(total_bytes=total, state_bytes=price, kv_bytes=1.0), LEAST)
    if not splits:
        pytest.skip("nothing fits")
    calls = []
    replays = made(calls)
    place = pattern_search(splits, replays, [coarse_best(splits, replays, 8)])
    assert recomputed(splits[place]) <= 1.005 * min(map(recomputed, splits))
    assert len(calls) == len(set(calls)) <= 8 + 9


def test_a_line_spends_its_bytes():
    budget = Budget(total_bytes=10**9, state_bytes=2_000_000, kv_bytes=1500.0)
    found = splits_of(budget, Split(state_slots=1, kv_tokens=1))
    assert len(found) == len(set(found)) <= SPLITS
    for split in found:
        assert 10**9 - 1500 <= budget.bytes_of(split) <= 10**9
    assert list(shares()) == sorted(shares())


def test_among_equals_the_middle_one_is_taken():
    splits = [Split(state_slots=n, kv_tokens=1) for n in range(5)]
    assert best_by(splits, lambda s: 1.0 if s.state_slots in {1, 2, 3} else 2.0) == 2


@pytest.mark.parametrize(
    ("valley", "low", "middle"), [(range(30, 61), 31, 45), (range(50, 53), 50, 51), ([99], 99, 99)]
)
def test_the_middle_of_the_valley_is_taken(valley, low, middle):
    splits = [Split(state_slots=n, kv_tokens=1) for n in range(100)]
    replays = Replays(
        run=lambda wanted: [
            Outcome(cached_tokens=500 if s.state_slots in valley else 100, out_of=None) for s in wanted
        ],
        input_tokens=1000,
    )
    assert middle_of_valley(splits, replays, low) == middle


def test_sizes_are_spaced_by_ratio():
    assert spaced(10, 160, 5) == (10, 20, 40, 80, 160)
    assert spaced(3, 3, 5) == (3,)
    assert spaced(2, 4, 24) == (2, 3, 4)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"state_bytes": 0}, "take bytes"),
        ({"kv_bytes": 0.0}, "take bytes"),
        ({"kv_bytes": math.nan}, "take bytes"),
        ({"kv_bytes": math.inf}, "take bytes"),
        ({"total_bytes": 0}, "no server"),
        ({"total_bytes": 1 << 61}, "no server"),
    ],
)
def test_a_budget_that_is_none(given, word):
    with pytest.raises(InputError, match=word):
        Budget(**{"total_bytes": 1 << 30, "state_bytes": 1000, "kv_bytes": 10.0, **given})
