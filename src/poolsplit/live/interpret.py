"""Raw answers of one server to samples: one a replica, with counters turned into differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.engines.live_reading import PoolUse, RankReading, Reading, over_workers
from poolsplit.errors import InputError
from poolsplit.live.counters import CounterWindow
from poolsplit.live.exposition import ExpositionReader
from poolsplit.live.sample import LiveSample, Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.live_reading import ServerFacts
    from poolsplit.live.exporter import Exporter
    from poolsplit.live.scrape import RawScrape

MAX_REPLICAS = 1024
"""Replicas remembered behind one address; the eldest are forgotten."""


class Interpreter:
    """Keeps what is needed between two looks at one server: totals by replica, and the facts of its start-up."""

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter
        self._reader = ExpositionReader(exporter.is_wanted)
        self._counters: dict[str, CounterWindow] = {}
        self._seen_s: dict[str, float] = {}
        self._facts: ServerFacts | None = None
        self._card: str | None = None

    def samples(self, raw: RawScrape) -> tuple[LiveSample, ...]:
        """Samples of one look, one a replica, in the order of their names."""
        warnings = list(raw.warnings)
        self._learn_facts(raw, warnings)
        reading = self._reading(raw, warnings)
        replicas = sorted({rank.replica for rank in reading.ranks})
        if not replicas:
            warnings.append("the answer holds no gauges of this engine")
        return tuple(self._sample(raw, reading, replica, tuple(warnings)) for replica in replicas)

    def _learn_facts(self, raw: RawScrape, warnings: list[str]) -> None:
        if isinstance(raw.loads, dict):
            self._card = self._exporter.read_accelerator(raw.loads) or self._card
        if raw.info is None:
            return
        try:
            self._facts = replace(self._exporter.read_info(raw.info), accelerator=self._card)
        except InputError as error:
            warnings.append(f"no facts of the start-up: {error}")

    def _reading(self, raw: RawScrape, warnings: list[str]) -> Reading:
        if raw.metrics is not None:
            reading = self._exporter.read_metrics(self._reader.read(raw.metrics))
            if self._reader.bad_lines:
                warnings.append(f"{self._reader.bad_lines} lines of the metrics page could not be read")
            return reading
        if raw.loads is None:
            return Reading(ranks=())
        try:
            return _reading_of_loads(self._exporter.read_loads(raw.loads))
        except InputError as error:
            warnings.append(str(error))
            return Reading(ranks=())

    def _sample(self, raw: RawScrape, reading: Reading, replica: str, warnings: tuple[str, ...]) -> LiveSample:
        totals = reading.worker_counters.get(replica, {})
        added = self._window(replica).add(totals)
        before_s = self._seen_s.get(replica)
        self._seen_s[replica] = raw.time_s
        first = added is None or before_s is None
        return LiveSample(
            server=raw.server,
            replica=replica,
            time_s=raw.time_s,
            ranks=tuple(rank for rank in reading.ranks if rank.replica == replica),
            span="since_start" if first or (added and added.restarted) else "interval",
            elapsed_s=None if first or before_s is None else max(0.0, raw.time_s - before_s),
            traffic=Traffic(counts=over_workers(totals if added is None else added.values)),
            facts=self._facts,
            restarted=bool(added and added.restarted),
            missing=reading.missing,
            warnings=(*warnings, *reading.warnings),
        )

    def _window(self, replica: str) -> CounterWindow:
        if replica not in self._counters and len(self._counters) >= MAX_REPLICAS:
            eldest = min(self._seen_s, key=self._seen_s.__getitem__)
            del self._counters[eldest], self._seen_s[eldest]
        return self._counters.setdefault(replica, CounterWindow())


def _reading_of_loads(loads: Mapping[int, Mapping[str, int]]) -> Reading:
    """What the loads answer knows: requests and KV rows of every worker, no state pool and no cached rows."""
    ranks = []
    for dp_rank, values in sorted(loads.items()):
        tokens, used = values.get("kv_tokens"), values.get("kv_used_tokens")
        known = tokens is not None and used is not None and tokens > 0
        ranks.append(
            RankReading(
                replica="",
                dp_rank=dp_rank,
                pp_rank=0,
                model="",
                role="",
                running=values.get("running"),
                queued=values.get("queued"),
                kv=PoolUse(used=used, evictable=0, available=max(0, tokens - used)) if known else None,  # type: ignore[operator, arg-type]
                kv_usage_fraction=used / tokens if known else None,  # type: ignore[operator]
                kv_tokens=tokens,
            )
        )
    return Reading(ranks=tuple(ranks))
