"""Predicted against measured, figure by figure."""

from dataclasses import replace

import pytest

from live_looks import Looks
from live_server import Engine
from poolsplit.live.expected import Expected
from poolsplit.live.verify import MIN_FINISHED, Tolerances, compare, size_comparison

PLAN = Expected(
    origin="plan",
    state_slots=100,
    kv_tokens=1_000_000,
    granted_requests=20,
    running_requests=20,
    binding="state",
    request_tokens=8192.0,
    cached_fraction=0.4,
)


def compared(engine=None, *, expected=PLAN, finished=MIN_FINISHED, length=8192, cached=40_000, **changes):
    engine = engine or Engine(**changes)
    watched = Looks(expect=lambda _facts: expected)
    watched(engine)
    engine.serve(computed=60_000, cached=cached, finished=finished, length=length)
    judged = watched(engine).judged[0]
    return {row.name: row for row in judged.comparisons}


def test_all_as_planned():
    assert all(row.ok for row in compared().values())


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"state_slots": 97}, "state_slots"),
        ({"kv_tokens": 1_030_000}, "kv_tokens"),
        ({"granted_requests": 22}, "max_running_requests"),
        ({"running_requests": 24}, "running"),
        ({"request_tokens": 12_000.0}, "mean_request_tokens"),
        ({"cached_fraction": 0.6}, "cached_fraction"),
        ({"binding": "kv"}, "binding"),
    ],
)
def test_one_figure_that_is_not(changes, wrong):
    rows = compared(expected=replace(PLAN, **changes))
    assert [name for name, row in rows.items() if row.ok is False] == [wrong]


def test_more_running_and_more_reuse_than_planned_are_fine():
    rows = compared(expected=replace(PLAN, running_requests=10, cached_fraction=0.1))
    assert rows["running"].ok
    assert rows["cached_fraction"].ok


def test_what_cannot_be_judged_yet_is_neither_right_nor_wrong():
    rows = compared(queued=0, finished=MIN_FINISHED - 1, cached=0)
    assert rows["running"].ok is None
    assert "queue was empty" in rows["running"].reason
    assert rows["mean_request_tokens"].ok is None
    assert rows["binding"].ok is None
    assert compared(expected=Expected(origin="plan"))["state_slots"].ok is None


def test_running_is_compared_per_worker():
    engine = Engine(dp_ranks=(0, 1), dp_labels=True)
    row = compared(engine)["running"]
    assert (row.measured, row.ok) == (20, True)


def test_one_buffer_is_measured_by_what_the_server_says():
    engine = Engine(state=(30, 20, 900), info={"enable_unified_memory": True})
    state = engine.server_info()["internal_states"][0] | {"max_mamba_cache_size": 100}
    engine.info["internal_states"] = [state]
    assert compared(engine)["state_slots"].measured == 100


@pytest.mark.parametrize(("measured", "ok"), [(98, True), (102, True), (97, False), (103, False)])
def test_a_tolerance_holds_at_its_edge(measured, ok):
    row = size_comparison("x", 100, measured, 0.02)
    assert row.ok is ok
    assert row.error_fraction == pytest.approx(abs(measured - 100) / 100)


def test_words_have_no_error():
    assert compared()["binding"].error_fraction is None


def test_a_comparison_needs_no_facts():
    watched = Looks(expect=lambda _facts: PLAN)
    judged = watched(Engine(), info=None).judged[0]
    rows = {row.name: row for row in compare(judged.view, PLAN, Tolerances())}
    assert rows["state_slots"].ok
    assert rows["max_running_requests"].ok is None
