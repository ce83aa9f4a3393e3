"""What periodic lines say of a running server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.boot_report.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakMean:
    """A periodic figure over the whole log."""

    peak: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeReport:
    """Periodic lines of a running server, put together."""

    samples: int
    running: PeakMean | None = None
    queue: PeakMean | None = None
    kv_usage_fraction: PeakMean | None = None
    state_usage_fraction: PeakMean | None = None
    new_tokens: int = 0
    cached_tokens: int = 0
    prefill_samples: int = 0
    retractions: int = 0
    retracted_requests: int = 0
    waiting_samples: int = 0
    """Samples with requests in the queue."""
    state_full_samples: int = 0
    """Waiting samples with every state slot in use."""
    kv_full_samples: int = 0
    """Waiting samples with the KV pool as good as full."""
    kv_usage_while_state_full: float | None = None
    """Mean KV use of the samples whose state pool is full."""
    kv_pool_tokens: Interval | None = None
    """From tokens in use over the printed use."""
    state_pool_slots: Interval | None = None
    """From slots in use over the printed use."""

    @property
    def cached_token_fraction(self) -> float | None:
        """Share of prompt tokens that came from the cache; None without prefill lines."""
        prompt = self.new_tokens + self.cached_tokens
        return self.cached_tokens / prompt if prompt else None

    @property
    def binding(self) -> str | None:
        """Which pool was full while requests waited, by most samples."""
        if not self.state_full_samples and not self.kv_full_samples:
            return None
        return "state" if self.state_full_samples >= self.kv_full_samples else "kv"
