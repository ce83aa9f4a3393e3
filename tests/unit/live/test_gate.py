"""Conditions put to figures."""

import pytest

from live_looks import Looks
from live_server import Engine
from poolsplit.errors import UsageError
from poolsplit.live.expected import from_plan
from poolsplit.live.gate import Conditions, Figures, judge_figures, plan_figures, server_figures
from poolsplit.live.verify import size_comparison

ROWS = (size_comparison("state_slots", 100, 101, 0.02), size_comparison("kv_tokens", 100, None, 0.02))


def figures(**changes):
    given = {"kind": "server", "running_requests": 20, "cached_fraction": 0.4, "comparisons": ROWS, **changes}
    return Figures(**given)


def names(rows):
    return {row.name: row.ok for row in rows}


def test_only_what_is_asked_is_judged():
    rows = judge_figures(figures(), Conditions(min_requests=20, min_cached_fraction=0.5))
    assert names(rows) == {"running_requests": True, "cached_fraction": False}


def test_what_is_unknown_does_not_hold():
    rows = judge_figures(
        figures(running_requests=None, cached_fraction=None), Conditions(min_requests=0, min_cached_fraction=0.0)
    )
    assert names(rows) == {"running_requests": False, "cached_fraction": False}


@pytest.mark.parametrize(("max_error", "ok"), [(None, True), (0.01, True), (0.0, False)])
def test_predicted_sizes_are_judged_and_an_untold_one_does_not_hold(max_error, ok):
    rows = judge_figures(figures(), Conditions(max_error=max_error))
    assert names(rows) == {"error state_slots": ok, "error kv_tokens": False}
    assert rows[1].reason == "predicted 100, not told here"


def test_a_size_that_was_not_predicted_is_not_judged():
    rows = judge_figures(figures(comparisons=(*ROWS[:1], size_comparison("kv_tokens", None, 5, 0.02))), Conditions())
    assert names(rows) == {"error state_slots": True}


def test_without_any_prediction_an_error_cannot_be_judged():
    (row,) = judge_figures(figures(comparisons=()), Conditions(max_error=0.5))
    assert not row.ok
    assert "nothing was predicted" in row.reason


@pytest.mark.parametrize(
    "given", [{"min_requests": -1}, {"max_error": 1.5}, {"min_cached_fraction": -0.1}, {"max_error": float("nan")}]
)
def test_conditions_that_cannot_hold_are_bad_input(given):
    with pytest.raises(UsageError):
        Conditions(**given)


@pytest.mark.parametrize(("interval", "share"), [([90, 110], 0.1), ([100, 100], 0.0), (None, None), ([0, 0], None)])
def test_a_plan_is_as_sure_as_its_bytes(interval, share):
    plan = {"command": "plan", "recommended": {"running_requests": 7, "total_running_requests": 14}}
    plan["rest_interval_bytes"] = interval
    found = plan_figures(plan, from_plan(plan, where="plan"))
    assert found.running_requests == 14
    assert found.interval_fraction == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("split", "running", "other"), [("recommended", 9, "as it stands 4"), ("current", 4, "--flag 9")]
)
def test_a_plan_is_judged_by_the_split_that_is_named(split, running, other):
    plan = {
        "command": "plan",
        "recommended": {"total_running_requests": 9, "flags": ["--flag"]},
        "current": {"total_running_requests": 4, "flags": []},
    }
    found = plan_figures(plan, from_plan(plan, where="plan"), split=split)
    assert found.running_requests == running
    assert other in found.running_reason


def test_the_requests_of_all_workers_count():
    engine = Engine(dp_ranks=(0, 1), dp_labels=True)
    judged = Looks()(engine).judged[0]
    assert server_figures(judged, kind="server").running_requests == 40


def test_a_server_that_does_not_say_what_it_admits():
    judged = Looks()(Engine(), info=None).judged[0]
    found = server_figures(judged, kind="server")
    assert found.running_requests is None
    assert found.running_reason
