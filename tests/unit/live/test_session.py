"""The watch itself: pace, servers that come and go, and memory that does not grow."""

import gc
import io
import json
import tracemalloc

import pytest

from live_looks import Looks, look
from live_server import Engine
from poolsplit.answers.live.expect import expecter
from poolsplit.answers.live.watch import EXPORTER
from poolsplit.errors import EngineUnreachableError
from poolsplit.live.recording import Recorder, read_session
from poolsplit.live.scrape import RawScrape
from poolsplit.live.session import MAX_FORGOTTEN_TICKS, NO_GAUGES, Judging, Pace, Watch, watch_recording, watch_servers


class FakeClock:
    """Time that passes only when somebody sleeps, or when looking takes long."""

    def __init__(self):
        self.time_s = 1000.0
        self.slept = []

    def now_s(self):
        return self.time_s

    def sleep(self, seconds):
        self.slept.append(round(seconds, 6))
        self.time_s += seconds


class FakeServer:
    """A server whose answers are made up, some of them missing."""

    def __init__(self, engine, clock, *, root="http://a", down=(), takes_s=0.0):
        self.root, self.engine, self.clock = root, engine, clock
        self.down, self.takes_s = set(down), takes_s
        self.looks = 0
        self.asked_again = 0

    def scrape(self, now_s):
        number, self.looks = self.looks, self.looks + 1
        self.clock.time_s += self.takes_s
        if number in self.down:
            raise EngineUnreachableError("no answer", where=self.root)
        return look(self.engine, now_s, self.root)

    def ask_info_again(self):
        self.asked_again += 1


def new_watch(**judging):
    return Watch(EXPORTER, Judging(expect=expecter(None), **judging))


def run(*servers, looks=4, interval_s=10.0, recorder=None):
    clock = servers[0].clock
    pace = Pace(interval_s=interval_s, looks=looks)
    return list(watch_servers(servers, new_watch(), pace, clock=clock, recorder=recorder))


def test_looks_come_at_the_interval_however_long_they_take():
    clock = FakeClock()
    run(FakeServer(Engine(), clock, takes_s=3.0))
    assert clock.slept == [7.0, 7.0, 7.0]


def test_missed_intervals_are_skipped():
    clock = FakeClock()
    run(FakeServer(Engine(), clock, takes_s=25.0), looks=2)
    assert clock.slept == [5.0]


def test_a_server_that_is_down_for_a_while_is_listed_and_asked_again():
    server = FakeServer(Engine(), FakeClock(), down={1, 2})
    ticks = run(server)
    assert [len(tick.judged) for tick in ticks] == [1, 0, 0, 1]
    assert ticks[1].errors == (("http://a", "http://a: no answer"),)
    assert server.asked_again == 2


def test_nobody_at_the_first_look_is_an_error():
    with pytest.raises(EngineUnreachableError):
        run(FakeServer(Engine(), FakeClock(), down={0}))


def test_an_answer_without_gauges_is_no_answer():
    class Page(FakeServer):
        def scrape(self, now_s):
            return RawScrape(server=self.root, time_s=now_s, metrics="<html>")

    with pytest.raises(EngineUnreachableError) as caught:
        run(Page(Engine(), FakeClock()))
    assert caught.value.message == NO_GAUGES
    assert "--enable-metrics" in caught.value.hint


def test_a_fleet_goes_on_without_one():
    clock = FakeClock()
    ticks = run(FakeServer(Engine(), clock), FakeServer(Engine(), clock, root="http://b", down={0, 1}), looks=3)
    assert [len(tick.judged) for tick in ticks] == [1, 1, 2]
    assert [tick.fleet is None for tick in ticks] == [True, True, False]


def test_a_restarted_server_is_asked_for_its_facts():
    engine = Engine()
    engine.serve(computed=100, finished=1)

    class Restarting(FakeServer):
        def scrape(self, now_s):
            if self.looks == 2:
                self.engine.restart()
                self.engine.serve(computed=1)
            return super().scrape(now_s)

    server = Restarting(engine, FakeClock())
    assert [tick.judged[0].sample.restarted for tick in run(server)] == [False, False, True, False]
    assert server.asked_again == 1


def test_a_replica_that_is_gone_is_forgotten():
    watched = Looks()
    engine = Engine()
    for number in range(MAX_FORGOTTEN_TICKS + 5):
        engine.extra_labels = {"pod": f"p{number}"}
        watched(engine)
    assert len(watched.watch._windows) == MAX_FORGOTTEN_TICKS + 1


def test_what_was_recorded_is_read_back(tmp_path):
    clock, text = FakeClock(), io.StringIO()
    engine = Engine()
    recorder = Recorder(text, EXPORTER)
    ticks = run(FakeServer(engine, clock), FakeServer(engine, clock, root="http://b", down={1}), recorder=recorder)
    file = tmp_path / "s.jsonl"
    file.write_text(text.getvalue())
    again = list(watch_recording(read_session(str(file)), new_watch()))
    assert [tick.errors for tick in again] == [tick.errors for tick in ticks]
    for before, after in zip(ticks, again, strict=True):
        assert [one.sample for one in after.judged] == [one.sample for one in before.judged]
        assert [one.findings for one in after.judged] == [one.findings for one in before.judged]


def test_a_recording_holds_wanted_series_alone():
    text = io.StringIO()
    Recorder(text, EXPORTER).add(0, look(Engine()))
    kept = json.loads(text.getvalue().splitlines()[1])["metrics"]
    assert all(line.startswith("sglang:") for line in kept)
    assert len("\n".join(kept)) < len(Engine().page()) / 4


def test_memory_stays_flat_over_many_looks():
    """A hundred thousand looks are in bench/watch_memory.py; a leak shows in fewer."""
    watched, info = Looks(window_s=50.0), Engine().server_info()
    page = "\n".join(line for line in Engine().page().splitlines() if "_tokens{" in line or "_reqs{" in line)

    def looks(count):
        for number in range(count):
            total = f'sglang:prefill_effective_tokens_total{{mode="input",tp_rank="0",pod="p{number % 3}"}} {number}'
            text = page.replace("{", f'{{pod="p{number % 3}",') + f"\n{total}\n"
            watched.number += 1
            watched.watch.tick(
                watched.number, [RawScrape(server="http://a", time_s=10.0 * watched.number, metrics=text, info=info)]
            )

    looks(200)
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    looks(600)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 100_000
