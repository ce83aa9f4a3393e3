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

FAST_LINES = re.compile(
    rb" batch[^#\n]*#(?:"
    rb"running-req: (\d+), #full token: (\d+), full token usage: (\d\.\d\d), mamba num: (\d+), mamba usage: (\d\.\d\d)"
    rb"[^\n]*#queue-req: (\d+)"
    rb"|new-seq: \d+, #new-token: (\d+), #cached-token: (\d+), full token usage: (\d\.\d\d), mamba usage: (\d\.\d\d)"
    rb", #running-req: (\d+), #queue-req: (\d+)"
    rb")[^\n]*\n(?:\[[^\]\n]*\] )?(?:Decode|Prefill)?"
)
"""A whole decode or prefill line of a hybrid, and the bracket that begins the next line."""
FAST_GROUPS = FAST_LINES.groups


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
        self._pressure(batch.queue, batch.kv_usage_fraction, batch.state_usage_fraction, 1)
        self._kv_pool.narrow(batch.kv_tokens, batch.kv_usage_fraction)
        self._state_pool.narrow(batch.state_slots, batch.state_usage_fraction)

    def retract(self, requests: int) -> None:
        """Counts one retraction."""
        self._retractions += 1
        self._retracted += requests

    def add_pieces(self, pieces: Sequence[bytes | None]) -> None:
        """Counts the lines that `FAST_LINES.split` found in one chunk."""
        width = FAST_GROUPS + 1
        column = [pieces[at::width] for at in range(1, width)]
        decode = Counter(zip(column[0], column[2], column[4], column[5], strict=True))
        prefill = Counter(zip(column[10], column[8], column[9], column[11], strict=True))
        for rows in (decode, prefill):
            for (running, kv_usage, state_usage, queue), count in rows.items():
                if running is not None and kv_usage and state_usage and queue:
                    self._add_row(int(running), float(kv_usage), float(state_usage), int(queue), count)
        prefills = [text for text in column[6] if text is not None]
        self._prefills += len(prefills)
        self._new_tokens += sum(map(int, prefills))
        self._cached_tokens += sum(int(text) for text in column[7] if text is not None)
        first = next((at for at, text in enumerate(column[0]) if text is not None), None)
        if first is not None:
            self._kv_pool.narrow(int(column[1][first] or 0), float(column[2][first] or 0))
            self._state_pool.narrow(int(column[3][first] or 0), float(column[4][first] or 0))

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

    def _add_row(self, running: int, kv_usage: float, state_usage: float, queue: int, count: int) -> None:
        self.samples += count
        self._figure("running").add(running, count)
        self._figure("queue").add(queue, count)
        self._figure("kv_usage_fraction").add(kv_usage, count)
        self._figure("state_usage_fraction").add(state_usage, count)
        self._pressure(queue, kv_usage, state_usage, count)

    def _pressure(self, queue: int | None, kv_usage: float | None, state_usage: float | None, count: int) -> None:
        if state_usage is not None and state_usage >= FULL_FRACTION and kv_usage is not None:
            self._kv_while_full += kv_usage * count
            self._kv_while_full_count += count
        if not queue:
            return
        self._waiting += count
        if state_usage is not None and state_usage >= FULL_FRACTION:
            self._state_full += count
        if kv_usage is not None and kv_usage >= FULL_FRACTION:
            self._kv_full += count

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


class _Figure:
    """Peak and mean of one figure."""

    def __init__(self) -> None:
        self.peak, self.sum, self.count = 0.0, 0.0, 0

    def add(self, value: float, count: int) -> None:
        self.peak = max(self.peak, value)
        self.sum += value * count
        self.count += count

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
