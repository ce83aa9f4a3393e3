"""Orders of starts and finishes."""

from types import SimpleNamespace

import numpy as np
import pytest

from poolsplit.errors import InputError
from poolsplit.replay.ordered.order import Timing, held_by_running, in_order, order_events, service_times


def columns(**given):
    rows = len(given["session"])
    base = {
        "arrival_s": np.arange(rows, dtype=float),
        "session": given["session"],
        "after": [-1] * rows,
        "think_s": [np.nan] * rows,
        "service_s": [2.0] * rows,
        "input_tokens": [100] * rows,
        "output_tokens": [10] * rows,
    }
    base |= {"kept_blocks": [0] * rows}
    return SimpleNamespace(block_tokens=16, **{name: np.array(value) for name, value in {**base, **given}.items()})


def test_one_at_a_time_and_three_outstanding():
    assert in_order(3, 1).tolist() == [0, -1, 1, -2, 2, -3]
    assert in_order(4, 3).tolist() == [0, 1, 2, -1, 3, -2, -3, -4]


def test_a_closed_loop_gives_a_free_lane_to_the_next_session():
    trace = columns(session=[0, 0, 1, 2], after=[-1, 0, -1, -1], think_s=[np.nan, 100.0, np.nan, np.nan])
    events = order_events(trace, Timing(mode="closed", sessions=2, longest_think_s=10.0))
    assert events.tolist() == [0, 2, -3, -1, 3, -4, 1, -2]


def test_recorded_times_overlap_as_they_did():
    events = order_events(columns(session=[0, 1, 2]), Timing(mode="recorded"))
    assert events.tolist() == [0, 1, -1, 2, -2, -3]


def test_every_request_starts_once_and_finishes_behind_it():
    trace = columns(session=[0, 0, 0, 1, 1, 2], after=[-1, 0, 0, -1, 3, -1], service_s=[1, 5, 0, 2, 2, 0])
    for timing in (Timing(outstanding=2), Timing(mode="closed", sessions=1), Timing(mode="recorded")):
        events = order_events(trace, timing).tolist()
        assert sorted(events) == list(range(-6, 6))
        assert all(events.index(row) < events.index(-1 - row) for row in range(6))


def test_what_runs_is_counted_at_each_start():
    held = held_by_running((np.array([10, 20, 30]), np.array([1, 1, 1])), in_order(3, 2))
    assert (held.running_peak, held.tokens_peak, held.running_mean) == (2, 52, 5 / 3)


def test_unknown_durations_need_speeds():
    trace = columns(session=[0, 1], service_s=[np.nan, np.nan])
    with pytest.raises(InputError, match="no recorded durations"):
        order_events(trace, Timing(mode="recorded"))
    fast = Timing(mode="recorded", prefill_tokens_per_s=1000.0, decode_tokens_per_s=100.0)
    assert order_events(trace, fast).tolist() == [0, -1, 1, -2]


def test_speeds_replace_recorded_times_and_read_only_what_is_new():
    trace = columns(session=[0, 0], service_s=[1.0, np.nan], kept_blocks=[0, 5])
    assert service_times(trace, Timing()).tolist() == [1.0, 1.0]
    fast = Timing(prefill_tokens_per_s=10.0, decode_tokens_per_s=5.0)
    assert service_times(trace, fast).tolist() == [100 / 10 + 2, 20 / 10 + 2]


def test_a_closed_loop_needs_sessions():
    with pytest.raises(InputError, match="number of sessions"):
        Timing(mode="closed")


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["prefill_tokens_per_s", "decode_tokens_per_s"])
def test_a_speed_is_above_zero_and_ends(name, speed):
    with pytest.raises(InputError, match="speed is not above zero"):
        Timing(**{name: speed})
