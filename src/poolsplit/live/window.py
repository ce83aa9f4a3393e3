"""The last minutes of one server: a bounded row of samples and what they add up to."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from poolsplit.live.sample import LiveSample, Traffic, what_stops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.live.sample import Binding

MAX_SAMPLES = 512
"""However short the interval, no more samples are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowView:
    """Samples of one server, oldest first, never empty."""

    samples: tuple[LiveSample, ...]
    traffic: Traffic
    """All that was served in the window, put together once."""
    binding: Binding | None
    """What stopped requests in most of the samples that had a queue."""
    best_cached_fraction: float | None = None
    """The highest windowed reuse of the session: traffic that once repeated that much may do so again."""

    @property
    def last(self) -> LiveSample:
        """The newest sample."""
        return self.samples[-1]

    @property
    def waiting_fraction(self) -> float:
        """Share of the samples with requests in the queue."""
        return sum(1 for sample in self.samples if sample.queued) / len(self.samples)

    @property
    def is_saturated(self) -> bool:
        """Whether requests waited most of the time: then the running ones show the server's limit."""
        return self.waiting_fraction >= 0.5  # noqa: PLR2004 - most of the time

    @property
    def mean_running(self) -> float | None:
        """Mean running requests over the samples with a queue, or over all without one."""
        waiting = [sample.running for sample in self.samples if sample.queued and sample.running is not None]
        values = waiting or [sample.running for sample in self.samples if sample.running is not None]
        return fmean(values) if values else None

    @property
    def mean_request_tokens(self) -> float | None:
        """Input and output of a mean request: of those that finished, else the live context of those that run."""
        finished = self.traffic.mean_request_tokens
        if finished is not None:
            return finished
        contexts = [sample.mean_context_tokens for sample in self.samples if sample.mean_context_tokens]
        return fmean(contexts) if contexts else None


def whole_traffic(samples: Sequence[LiveSample]) -> Traffic:
    """All that was served over the samples; for a single first look, since the server started."""
    spans = [sample.traffic for sample in samples if sample.span == "interval"] or [samples[-1].traffic]
    whole = Traffic()
    for span in spans:
        whole = whole.plus(span)
    return whole


def usual_binding(samples: Sequence[LiveSample]) -> Binding | None:
    """What stopped requests in most of the samples that had a queue."""
    seen = Counter(what_stops(sample).binding for sample in samples)
    seen.pop(None, None)
    return max(seen, key=lambda binding: (seen[binding], binding or ""), default=None)


class Window:
    """Keeps the samples of the last `span_s` seconds, and no more than `MAX_SAMPLES` of them."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._samples: deque[LiveSample] = deque(maxlen=MAX_SAMPLES)
        self._best: float | None = None

    def add(self, sample: LiveSample) -> WindowView:
        """The window with one more sample; a restart of the server empties it first."""
        if sample.restarted or (self._samples and sample.time_s < self._samples[-1].time_s):
            self._samples.clear()
            self._best = None
        self._samples.append(sample)
        while self._samples[0].time_s < sample.time_s - self._span_s:
            self._samples.popleft()
        samples = tuple(self._samples)
        view = WindowView(
            samples=samples,
            traffic=whole_traffic(samples),
            binding=usual_binding(samples),
            best_cached_fraction=self._best,
        )
        reused = view.traffic.cached_fraction
        if reused is not None and len(self._samples) > 1:
            self._best = reused if self._best is None else max(self._best, reused)
        return view
