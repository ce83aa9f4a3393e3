"""Grids, and points through executors that lose workers."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from poolsplit.errors import InputError, UsageError
from poolsplit.sweep.grid import digest_of, grid_of
from poolsplit.sweep.run import ATTEMPTS, Crew, run_points

KNOWN = {"a": "first", "b": "second"}


class LostError(Exception):
    pass


def crew(work, workers=4):
    return Crew(work=work, executor=lambda: ThreadPoolExecutor(workers), lost=(LostError,))


def test_the_last_axis_varies_fastest():
    points = grid_of({"a": [1, 2], "b": ["x", "y"]}, KNOWN).points()
    assert points == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("axes", [{"c": [1]}, {"a": []}, {"a": [1, 1]}, {"a": range(2000), "b": range(2000)}])
def test_grids_that_mean_nothing_are_refused(axes):
    with pytest.raises(UsageError):
        grid_of({name: list(values) for name, values in axes.items()}, KNOWN)


def test_a_digest_tells_types_and_values_apart_and_forgets_the_order():
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert len({digest_of({"a": value}) for value in (1, 1.0, "1", 2)}) == 4


def test_every_point_is_kept_once_whatever_the_order():
    kept = []
    points = [{"a": n} for n in range(200)]
    run_points(points, crew(lambda point: {"square": point["a"] ** 2}), lambda p, r: kept.append((p["a"], r["square"])))
    assert sorted(kept) == [(n, n * n) for n in range(200)]


def test_a_lost_worker_is_made_good():
    lost = {3, 50}

    def work(point):
        if point["a"] in lost:
            lost.discard(point["a"])
            raise LostError
        return {}

    kept = []
    run_points([{"a": n} for n in range(100)], crew(work), lambda p, _: kept.append(p["a"]))
    assert sorted(kept) == list(range(100))
    assert not lost


def test_a_point_that_always_loses_its_worker_ends_the_sweep():
    tries = []

    def work(point):
        tries.append(point)
        raise LostError

    with pytest.raises(InputError, match="lost 3 times"):
        run_points([{"a": 1}], crew(work), lambda *_: None)
    assert len(tries) == ATTEMPTS


def test_a_bad_point_ends_the_sweep_and_keeps_what_was_done():
    kept = []

    def work(point):
        if point["a"] == 5:
            raise ValueError("bad")
        return {}

    with pytest.raises(ValueError, match="bad"):
        run_points([{"a": n} for n in range(10)], crew(work, workers=1), lambda p, _: kept.append(p["a"]))
    assert 5 not in kept
    assert len(kept) == len(set(kept))
