"""Differences of totals over restarts and gaps."""

from hypothesis import given
from hypothesis import strategies as st

from poolsplit.live.counters import CounterWindow


def added(*looks):
    window = CounterWindow()
    return [window.add(look) for look in looks]


def test_a_worker_that_is_missing_for_a_look_is_no_restart():
    whole = {("a", 0): 50, ("a", 1): 70}
    looks = added(whole, {("a", 0): 51}, {("a", 0): 52, ("a", 1): 75})
    assert [look.restarted for look in looks[1:]] == [False, False]
    assert [dict(look.values) for look in looks[1:]] == [{("a", 0): 1}, {("a", 0): 1, ("a", 1): 5}]


def test_the_first_look_has_nothing_to_compare_with():
    assert added({"a": 5}) == [None]


def test_totals_become_differences():
    assert added({"a": 5, "b": 1}, {"a": 9, "b": 1})[1].values == {"a": 4, "b": 0}


def test_a_restart_counts_everything_from_zero():
    last = added({"a": 50, "b": 2}, {"a": 3, "b": 4})[1]
    assert last.restarted
    assert last.values == {"a": 3, "b": 4}


def test_a_missing_series_yields_nothing_until_it_is_back():
    looks = added({"a": 5, "b": 1}, {"b": 2}, {"a": 9, "b": 3})
    assert looks[1].values == {"b": 1}
    assert looks[2].values == {"a": 4, "b": 1}


def test_a_series_that_appears_started_at_zero():
    assert added({"a": 5}, {"a": 5, "late": 7})[1].values == {"a": 0, "late": 7}


def test_a_look_without_totals_is_no_look():
    looks = added({"a": 5}, {}, {"a": 8})
    assert looks[1] is None
    assert looks[2].values == {"a": 3}


@given(st.lists(st.integers(min_value=0, max_value=10**12), min_size=2, max_size=50), st.sets(st.integers(1, 49)))
def test_differences_add_up_to_what_was_counted(steps, restarts):
    window, total, counted, seen = CounterWindow(), 0, 0, None
    for number, step in enumerate(steps):
        lost = number in restarts and step < (seen or 0)
        total = step if lost else total + step
        increments = window.add({"a": total})
        if increments is not None:
            assert increments.restarted == lost
            counted += increments.values["a"]
        seen = total
    assert counted == sum(steps[1:])
