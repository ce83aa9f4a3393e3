"""Histograms on a terminal."""

from poolsplit.report.histogram import bar, histogram


def test_bins_double_and_hold_every_value():
    lines = histogram([1, 2, 3, 4, 5, 1024, 1025])
    assert [line.split()[1] for line in (lines[0], lines[-1])] == ["1", "2k"]
    assert sum(int(line.split()[-2]) for line in lines) == 7
    assert all(len(line) <= 80 for line in lines)


def test_a_value_on_a_bound_is_below_it():
    assert [line.split()[1] for line in histogram([8])] == ["8"]
    assert [line.split()[1] for line in histogram([9])] == ["16"]
    assert [line.split()[1] for line in histogram([0])] == ["1"]


def test_something_is_always_seen():
    assert bar(1e-9, 10).strip()
    assert bar(0.0, 10) == " " * 10
    assert bar(1.0, 10) == "█" * 10
    assert histogram([]) == []
