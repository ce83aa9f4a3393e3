"""The periodic lines of a running server, counted without keeping them.

Chunks that hold nothing but periodic and access lines are read by one pass of a compiled pattern over the bytes;
everything else goes through the forms of `boot_log`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Interval, PeakMean, RuntimeReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.engines.boot_facts import Batch

USAGE_HALF_STEP = 0.005
FULL_FRACTION = 0.985
"""A pool is as good as full from here on: two printed decimals, one step below the top."""

_ACCESS = rb"INFO: ++[^\n\" ]++ - \"[A-Z]++ [^\n]{0,2000}+\n(?:\[[^\]\n]{0,80}+\] ?+)?+"
FAST_LINES = re.compile(
    rb" batch[^#\n]{0,40}+#(?:"
    rb"running-req: (\d{1,15}+), #full token: \d{1,15}+, full token usage: (\d\.\d\d)"
    rb", mamba num: \d{1,15}+, mamba usage: (\d\.\d\d)"
    rb"[^\n]{0,600}#queue-req: (\d{1,9}+)"
    rb"|new-seq: \d{1,15}+, #new-token: (\d{1,15}+), #cached-token: (\d{1,15}+), full token usage: (\d\.\d\d)"
    rb", mamba usage: (\d\.\d\d), #running-req: (\d{1,15}+), #queue-req: (\d{1,15}+)"
    rb")[^\n]{0,600}+\n(?:\[[^\]\n]{0,80}+\] )?+(?:" + _ACCESS + rb")*+(?:Decode|Prefill)?+"
)
"""A whole decode or prefill line of a hybrid, the access lines after it, and the bracket that begins the next line."""
_IN_USE = re.compile(rb"#full token: (\d+), full token usage: (\d\.\d\d), mamba num: (\d+), mamba usage: (\d\.\d\d)")
FAST_GROUPS = FAST_LINES.groups
ACCESS_LINES = re.compile(_ACCESS)
"""An access line of the HTTP server, and the bracket that begins the next line."""
_FULL = f"{FULL_FRACTION + USAGE_HALF_STEP:.2f}".encode()
"""The least printed share that counts as full; shares have one digit before the point, so text sorts as they do."""


class Tally:
    """Running totals of one start's periodic lines."""

    def __init__(self) -> None:
        self.samples = 0
        self.kept: list[tuple[str, Batch]] = []
        """The first lines in full, with their rank labels."""
        self._figures: dict[str, _Figure] = {}
        self._new_tokens = self._cached_tokens = self._prefills = 0
        self._retractions = self._retracted = 0
        self._waiting = self._state_full = self._kv_full = 0
        self._kv_while_full, self._kv_while_full_count = 0.0, 0
        self._kv_pool, self._state_pool = _Bounds(), _Bounds()

    def add(self, batch: Batch) -> None:
        """Counts one line in full."""
        self.samples += 1
        for name in ("running", "queue", "kv_usage_fraction", "state_usage_fraction"):
            value = getattr(batch, name)
            if value is not None:
                self._figure(name).add(value, 1)
        if batch.kind == "prefill":
            self._prefills += 1
            self._new_tokens += batch.new_tokens or 0
            self._cached_tokens += batch.cached_tokens or 0
        self._waiting += 1 if batch.queue else 0
        self._press(batch.queue, batch.kv_usage_fraction, batch.state_usage_fraction)
        self._kv_pool.narrow(batch.kv_tokens, batch.kv_usage_fraction)
        self._state_pool.narrow(batch.state_slots, batch.state_usage_fraction)

    def retract(self, requests: int) -> None:
        """Counts one retraction."""
        self._retractions += 1
        self._retracted += requests

    def add_chunk(self, chunk: bytes, pieces: Sequence[bytes | None]) -> None:
        """Counts the lines that `FAST_LINES.split` found in one chunk; the pools' sizes follow from its first line."""
        width = FAST_GROUPS + 1
        column = [pieces[at::width] for at in range(1, width)]
        self._add_columns(
            *(
                [*filter(None, column[of_decode]), *filter(None, column[of_prefill])]
                for of_decode, of_prefill in _GROUPS
            )
        )
        self._prefills += len(column[_PREFILL_ONLY]) - column[_PREFILL_ONLY].count(None)
        self._new_tokens += sum(map(int, filter(None, column[4])))
        self._cached_tokens += sum(map(int, filter(None, column[5])))
        in_use = _IN_USE.search(chunk)
        if in_use:
            self._kv_pool.narrow(int(in_use[1]), float(in_use[2]))
            self._state_pool.narrow(int(in_use[3]), float(in_use[4]))

    def merge(self, other: Tally) -> None:
        """Takes over another stretch of the same start."""
        self.samples += other.samples
        for name, figure in other._figures.items():
            self._figure(name).merge(figure)
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._kv_pool.merge(other._kv_pool)
        self._state_pool.merge(other._state_pool)

    @property
    def sees_state(self) -> bool:
        """Whether any line carried the use of a state pool."""
        return "state_usage_fraction" in self._figures

    def report_binding(self) -> str | None:
        """Which pool was full while requests waited."""
        report = self.report()
        return report.binding if report else None

    def report(self) -> RuntimeReport | None:
        """What was counted; None when there was nothing."""
        if not self.samples and not self._retractions:
            return None
        while_full = self._kv_while_full / self._kv_while_full_count if self._kv_while_full_count else None
        return RuntimeReport(
            samples=self.samples,
            **{name: figure.result() for name, figure in self._figures.items()},
            new_tokens=self._new_tokens,
            cached_tokens=self._cached_tokens,
            prefill_samples=self._prefills,
            retractions=self._retractions,
            retracted_requests=self._retracted,
            waiting_samples=self._waiting,
            state_full_samples=self._state_full,
            kv_full_samples=self._kv_full,
            kv_usage_while_state_full=while_full,
            kv_pool_tokens=self._kv_pool.result(),
            state_pool_slots=self._state_pool.result(),
        )

    def _add_columns(
        self, running: list[bytes], kv_usage: list[bytes], state_usage: list[bytes], queue: list[bytes]
    ) -> None:
        """Counts the printed figures of many lines, one list a figure."""
        self.samples += len(queue)
        queues, states, kvs = Counter(queue), Counter(state_usage), Counter(kv_usage)
        for name, counts in (("queue", queues), ("state_usage_fraction", states), ("kv_usage_fraction", kvs)):
            self._figure(name).add_counts(counts)
        self._figure("running").add_counts(Counter(running))
        self._waiting += len(queue) - queues[b"0"]
        full: set[int] = set()
        for counts, texts in ((states, state_usage), (kvs, kv_usage)):
            if any(text >= _FULL for text in counts):
                full.update(at for at, text in enumerate(texts) if text >= _FULL)
        for at in full:
            self._press(int(queue[at]), float(kv_usage[at]), float(state_usage[at]))

    def _press(self, queue: int | None, kv_usage: float | None, state_usage: float | None) -> None:
        """Counts a line on which a pool may be full."""
        state_full = state_usage is not None and state_usage >= FULL_FRACTION
        if state_full and kv_usage is not None:
            self._kv_while_full += kv_usage
            self._kv_while_full_count += 1
        if queue:
            self._state_full += state_full
            self._kv_full += kv_usage is not None and kv_usage >= FULL_FRACTION

    def _figure(self, name: str) -> _Figure:
        return self._figures.setdefault(name, _Figure())


_COUNTERS = (
    "_new_tokens",
    "_cached_tokens",
    "_prefills",
    "_retractions",
    "_retracted",
    "_waiting",
    "_state_full",
    "_kv_full",
    "_kv_while_full",
    "_kv_while_full_count",
)


_GROUPS = ((0, 8), (1, 6), (2, 7), (3, 9))
"""Groups of running, KV use, state use and queue in the decode and the prefill half of `FAST_LINES`."""
_PREFILL_ONLY = 4


class _Figure:
    """Peak and mean of one figure."""

    def __init__(self) -> None:
        self.peak, self.sum, self.count = 0.0, 0.0, 0

    def add(self, value: float, count: int) -> None:
        self.peak = max(self.peak, value)
        self.sum += value * count
        self.count += count

    def add_counts(self, counts: Counter[bytes]) -> None:
        for text, count in counts.items():
            self.add(float(text), count)

    def merge(self, other: _Figure) -> None:
        self.peak = max(self.peak, other.peak)
        self.sum += other.sum
        self.count += other.count

    def result(self) -> PeakMean:
        return PeakMean(peak=self.peak, mean=self.sum / self.count)


class _Bounds:
    """Size of a pool from what is in use and the printed share of it."""

    def __init__(self) -> None:
        self.low, self.high = 0.0, float("inf")
        self.consistent = True

    def narrow(self, used: int | None, share: float | None) -> None:
        if not used or share is None or share <= USAGE_HALF_STEP:
            return
        low, high = used / (share + USAGE_HALF_STEP), used / (share - USAGE_HALF_STEP)
        if low > self.high or high < self.low:
            self.consistent = False  # NOTE: two pools (ranks, roles) or a floating size: no one figure fits
            return
        self.low, self.high = max(self.low, low), min(self.high, high)

    def merge(self, other: _Bounds) -> None:
        low, high = max(self.low, other.low), min(self.high, other.high)
        self.consistent &= other.consistent and low <= high
        if self.consistent:
            self.low, self.high = low, high

    def result(self) -> Interval | None:
        known = self.consistent and self.low > 0
        return Interval(low=self.low, high=self.high) if known else None
