"""The watch itself: look, interpret, judge, again. Memory does not grow with time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from poolsplit.errors import EngineUnreachableError
from poolsplit.live.case import Case
from poolsplit.live.findings import find
from poolsplit.live.fleet import join_fleet
from poolsplit.live.interpret import Interpreter
from poolsplit.live.scrape import LiveServer, RawScrape
from poolsplit.live.verify import Comparison, Tolerances, compare
from poolsplit.live.window import Window, WindowView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from poolsplit.engines.boot_report import Finding
    from poolsplit.engines.live_reading import ServerFacts
    from poolsplit.live.expected import Expected
    from poolsplit.live.exporter import Exporter
    from poolsplit.live.fleet import Fleet
    from poolsplit.live.recording import Recorder
    from poolsplit.live.sample import LiveSample

NO_GAUGES = "the answer holds no gauges of this engine"
MAX_FORGOTTEN_TICKS = 10
"""A replica that was not seen for so many looks is forgotten."""


class Clock(Protocol):
    """Where time comes from."""

    def now_s(self) -> float:
        """Seconds since 1970."""

    def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The machine's time."""

    def now_s(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Waits; an interrupt ends it."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What every sample is judged by."""

    expect: Callable[[ServerFacts | None], Expected | None]
    """What a server should show, given what it says of its start-up."""
    tolerances: Tolerances = field(default_factory=Tolerances)
    window_s: float = 300.0
    reuse_limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One replica's sample with everything that follows from it."""

    view: WindowView
    expected: Expected | None
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    case: Case

    @property
    def sample(self) -> LiveSample:
        """The newest look."""
        return self.view.last


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """All servers at one look."""

    number: int
    judged: tuple[Judged, ...]
    fleet: Fleet | None
    """None for a single replica."""
    errors: tuple[tuple[str, str], ...] = ()
    """Servers that did not answer, and why."""


class Watch:
    """Turns looks into judged ticks."""

    def __init__(self, exporter: Exporter, judging: Judging) -> None:
        self._exporter = exporter
        self._judging = judging
        self._interpreters: dict[str, Interpreter] = {}
        self._windows: dict[tuple[str, str], Window] = {}
        self._seen: dict[tuple[str, str], int] = {}

    @property
    def metrics_hint(self) -> str:
        """How to make a server of this engine export its metrics."""
        return self._exporter.metrics_hint

    def tick(self, number: int, looks: Sequence[RawScrape]) -> Tick:
        """One look at every server, judged; a server without an answer is listed, the others go on."""
        errors = [(look.server, look.error) for look in looks if look.error is not None]
        judged: list[Judged] = []
        for look in looks:
            found = list(self._judge(number, look)) if look.error is None else []
            if look.error is None and not found:
                errors.append((look.server, NO_GAUGES))
            judged.extend(found)
        self._forget(number)
        return Tick(
            number=number,
            judged=tuple(judged),
            fleet=self._fleet(judged) if len(judged) > 1 else None,
            errors=tuple(errors),
        )

    def _judge(self, number: int, look: RawScrape) -> Iterator[Judged]:
        interpreter = self._interpreters.setdefault(look.server, Interpreter(self._exporter))
        for sample in interpreter.samples(look):
            key = (sample.server, sample.replica)
            view = self._windows.setdefault(key, Window(self._judging.window_s)).add(sample)
            self._seen[key] = number
            yield self._judge_view(view)

    def _judge_view(self, view: WindowView) -> Judged:
        expected = self._judging.expect(view.last.facts)
        case = Case(view=view, advice=self._exporter.advice, expected=expected, reuse_limit=self._judging.reuse_limit)
        comparisons = compare(view, expected, self._judging.tolerances) if expected else ()
        return Judged(view=view, expected=expected, comparisons=comparisons, findings=find(case), case=case)

    def _fleet(self, judged: Sequence[Judged]) -> Fleet:
        return join_fleet(tuple(one.view for one in judged), judged[0].expected)

    def _forget(self, number: int) -> None:
        for key in [key for key, seen in self._seen.items() if number - seen > MAX_FORGOTTEN_TICKS]:
            del self._seen[key], self._windows[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often, and how many times."""

    interval_s: float = 10.0
    looks: int | None = None
    """None goes on until it is stopped."""


def watch_servers(
    servers: Sequence[LiveServer], watch: Watch, pace: Pace, *, clock: Clock, recorder: Recorder | None = None
) -> Iterator[Tick]:
    """Looks at all servers at every interval. Missed intervals are skipped, not made up for.

    Raises:
        EngineUnreachableError: No server answers the first look.
    """
    start_s, number = clock.now_s(), 0
    with ThreadPoolExecutor(max_workers=min(32, len(servers))) as threads:
        while pace.looks is None or number < pace.looks:
            now_s = clock.now_s()
            errors: list[EngineUnreachableError] = []
            looks = tuple(threads.map(lambda server: _look(server, now_s, errors), servers))  # noqa: B023 - used at once
            if number == 0 and len(errors) == len(servers):
                raise errors[0]
            for look in looks if recorder else ():
                recorder.add(number, look)  # type: ignore[union-attr]
            tick = watch.tick(number, looks)
            if number == 0 and not tick.judged:
                server, reason = tick.errors[0]
                raise EngineUnreachableError(reason, hint=watch.metrics_hint, where=server)
            _ask_restarted_again(servers, tick)
            yield tick
            number += 1
            if number != pace.looks:
                passed_s = clock.now_s() - start_s
                clock.sleep(pace.interval_s - passed_s % pace.interval_s)


def watch_recording(ticks: Iterable[tuple[RawScrape, ...]], watch: Watch) -> Iterator[Tick]:
    """The same over the looks of a recording, without waiting."""
    for number, looks in enumerate(ticks):
        yield watch.tick(number, looks)


def _look(server: LiveServer, now_s: float, errors: list[EngineUnreachableError]) -> RawScrape:
    try:
        return server.scrape(now_s)
    except EngineUnreachableError as error:
        errors.append(error)
        return RawScrape(server=server.root, time_s=now_s, error=str(error))


def _ask_restarted_again(servers: Sequence[LiveServer], tick: Tick) -> None:
    restarted = {one.sample.server for one in tick.judged if one.sample.restarted} | {name for name, _ in tick.errors}
    for server in servers:
        if server.root in restarted:
            server.ask_info_again()
