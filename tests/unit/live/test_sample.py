"""Gauges of ranks put together, what stops requests, and the window."""

import pytest

from live_looks import Looks, judge, look
from live_server import Engine
from poolsplit.answers.live.watch import EXPORTER
from poolsplit.live.interpret import Interpreter
from poolsplit.live.sample import Traffic, what_stops
from poolsplit.live.window import MAX_SAMPLES


def sample(engine, **changes):
    (found,) = Interpreter(EXPORTER).samples(look(engine, **changes))
    return found


def test_a_part_of_the_workers_is_not_taken_for_all():
    engine = Engine(dp_ranks=(0, 1), dp_labels=True, running=7, live_context=700)
    page = "\n".join(
        line
        for line in engine.page().splitlines()
        if not (line.startswith("sglang:num_running_reqs") and 'dp_rank="1"' in line)
    )
    found = sample(engine, metrics=page)
    assert (found.running, found.mean_context_tokens, found.live_context_tokens) == (None, None, 1400)


def test_requests_are_added_over_workers_and_not_over_stages():
    found = sample(Engine(dp_ranks=(0, 1), pp_ranks=(0, 1), dp_labels=True, running=7, queued=2, live_context=700))
    assert (found.running, found.queued, found.workers) == (14, 4, 2)
    assert found.mean_context_tokens == 100


def test_the_fullest_rank_counts():
    page = (
        Engine(dp_ranks=(0,), dp_labels=True).page()
        + Engine(dp_ranks=(1,), dp_labels=True, state=(50, 0, 50), kv=(999, 0, 1)).page()
    )
    found = sample(Engine(), metrics=page)
    assert found.tightest_state.dp_rank == 0
    assert found.tightest_kv.dp_rank == 1
    assert found.state_usage_fraction == 0.97
    assert found.kv_usage_fraction == 0.999


def test_nothing_running_has_no_mean_context():
    assert sample(Engine(running=0, live_context=0)).mean_context_tokens is None


@pytest.mark.parametrize(
    ("changes", "binding"),
    [
        ({"queued": 0}, None),
        ({"state": (97, 1, 2)}, "state"),
        ({"state": (80, 10, 10)}, "state"),
        ({"state": (80, 10, 10), "running": 10}, None),
        ({"state": (20, 40, 40), "kv": (980_000, 0, 20_000), "running": 4}, "kv"),
        ({"state": (20, 40, 140), "granted": 16, "running": 16}, "request_cap"),
        ({"state": (20, 40, 140), "granted": 16, "running": 16, "kv": (10, 2, 20)}, "kv"),
    ],
    ids=[
        "no queue",
        "no slots left",
        "at the cap of the slots",
        "room in both",
        "no rows left",
        "asked cap",
        "half the rows",
    ],
)
def test_what_stops_the_next_request(changes, binding):
    assert what_stops(sample(Engine(**changes))).binding == binding


def test_only_workers_with_a_queue_are_blamed():
    full = Engine(dp_ranks=(0,), dp_labels=True, queued=0, state=(100, 0, 0), running=3)
    roomy = Engine(dp_ranks=(1,), dp_labels=True, queued=5, state=(20, 40, 40), kv=(990_000, 0, 10_000), running=3)
    assert what_stops(sample(Engine(), metrics=full.page() + roomy.page())).binding == "kv"


def test_without_facts_the_pools_alone_tell():
    assert what_stops(sample(Engine(state=(100, 0, 0)), info=None)).binding == "state"
    assert what_stops(sample(Engine(state=(90, 5, 5)), info=None)).binding is None


def test_traffic_adds_up():
    traffic = Traffic(counts={"computed_tokens": 60.0, "device_hit_tokens": 30.0, "host_hit_tokens": 10.0})
    assert traffic.cached_fraction == 0.4
    assert traffic.tier_fraction("host") == 0.1
    assert traffic.plus(traffic).prefill_tokens == 200
    assert Traffic().cached_fraction is None
    assert Traffic().mean_request_tokens is None
    assert Traffic(counts={"queue_wait_s": 6.0, "queue_waits": 3.0}).mean_queue_wait_s == 2.0


def test_the_first_look_covers_the_time_since_the_start():
    engine = Engine()
    engine.serve(computed=60, cached=40)
    watched = Looks()
    first = watched(engine).judged[0].sample
    assert (first.span, first.elapsed_s, first.traffic.cached_fraction) == ("since_start", None, 0.4)
    engine.serve(computed=10, cached=90)
    second = watched(engine).judged[0].sample
    assert (second.span, second.elapsed_s, second.traffic.cached_fraction) == ("interval", 10.0, 0.9)


def test_a_restart_empties_the_window_and_counts_from_zero():
    watched, engine = Looks(), Engine()
    for _ in range(3):
        engine.serve(computed=60, cached=40)
        watched(engine)
    engine.restart()
    engine.serve(computed=5, cached=5)
    judged = watched(engine).judged[0]
    assert judged.sample.restarted
    assert len(judged.view.samples) == 1
    assert judged.sample.traffic.prefill_tokens == 10


def test_a_clock_that_goes_back_empties_the_window():
    watched, engine = Looks(), Engine()
    watched(engine)
    watched.number = -5
    assert len(watched(engine).judged[0].view.samples) == 1


def test_the_window_forgets_what_is_old_and_never_keeps_too_many():
    watched, engine = Looks(window_s=30.0), Engine()
    for _ in range(10):
        judged = watched(engine).judged[0]
    assert len(judged.view.samples) == 4
    watched = Looks(window_s=1e9)
    for _ in range(MAX_SAMPLES + 10):
        judged = watched(engine, metrics='sglang:num_running_reqs{tp_rank="0"} 1').judged[0]
    assert len(judged.view.samples) == MAX_SAMPLES


def test_the_mean_request_is_that_of_finished_ones_else_of_running_ones():
    assert judge(Engine(), finished=20).view.mean_request_tokens == 8192
    assert judge(Engine(live_context=200_000), finished=0).view.mean_request_tokens == 10_000
    assert judge(Engine(running=0), finished=0).view.mean_request_tokens is None


def test_saturation_is_a_queue_most_of_the_time():
    watched = Looks()
    for queued in (4, 0, 0, 0):
        judged = watched(Engine(queued=queued)).judged[0]
    assert not judged.view.is_saturated
    assert judged.view.waiting_fraction == 0.25
    assert judged.view.binding == "state"


def test_loads_alone_show_requests_and_rows():
    found = sample(Engine(running=3, queued=1), metrics=None, loads=Engine(running=3, queued=1).loads())
    assert (found.running, found.queued, found.state_slots, found.kv_tokens) == (3, 1, None, 1_000_000)


@pytest.mark.parametrize(
    "changes",
    [{"metrics": "<html>"}, {"metrics": None}, {"metrics": None, "loads": {"x": 1}}, {"metrics": "", "info": {"a": 1}}],
)
def test_an_answer_without_gauges_gives_no_sample(changes):
    assert Interpreter(EXPORTER).samples(look(Engine(), **changes)) == ()


def test_bad_lines_are_counted_in_a_warning():
    page = Engine().page() + "sglang:num_running_reqs{ 3\n"
    assert "1 lines of the metrics page could not be read" in sample(Engine(), metrics=page).warnings


def test_a_worker_that_is_missing_from_a_page_is_no_restart_of_the_server():
    engine, watched = Engine(dp_ranks=(0, 1), dp_labels=True), Looks()
    watched(engine)
    engine.serve(computed=600, cached=400, finished=1)
    watched(engine)
    engine.dp_ranks = (0,)
    engine.serve(computed=600, cached=400, finished=1)
    alone = watched(engine).judged[0].sample
    engine.dp_ranks = (0, 1)
    engine.serve(computed=600, cached=400, finished=1)
    both = watched(engine).judged[0].sample
    assert (alone.restarted, both.restarted) == (False, False)
    assert (alone.traffic.prefill_tokens, both.traffic.prefill_tokens) == (1_000, 3_000)
