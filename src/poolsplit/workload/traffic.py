"""What a plan is asked to serve."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from poolsplit.workload.overflow import overflow_probability, requests_held

if TYPE_CHECKING:
    from poolsplit.workload.lengths import LengthMix

DEFAULT_OVERFLOW_FRACTION = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Lengths, the chance of overflow that is accepted, and the concurrency that is wanted."""

    lengths: LengthMix
    overflow_fraction: float = DEFAULT_OVERFLOW_FRACTION
    concurrency: int | None = field(default=None)
    """Running requests wanted at the peak, over all workers."""
    concurrency_median: int | None = None
    """Running requests half of the time, over all workers."""

    @property
    def mean_tokens(self) -> float:
        """Mean input and output of one request."""
        return self.lengths.mean_tokens

    def requests_held(self, kv_tokens: int, page_tokens: int) -> int:
        """Requests of this traffic that a KV pool of this many tokens holds, in whole pages."""
        return _held(self.lengths, kv_tokens, page_tokens, self.overflow_fraction)

    def fits(self, requests: int, kv_tokens: int, page_tokens: int) -> bool:
        """Whether so many requests are held, without finding how many would be."""
        mix = _paged(self.lengths, page_tokens)
        if mix.is_single:
            return requests * mix.longest_tokens <= kv_tokens
        return _overflow(self.lengths, page_tokens, requests, kv_tokens) <= self.overflow_fraction


@lru_cache(maxsize=64)
def _paged(lengths: LengthMix, page_tokens: int) -> LengthMix:
    return lengths.paged(page_tokens)


@lru_cache(maxsize=4096)
def _overflow(lengths: LengthMix, page_tokens: int, requests: int, kv_tokens: int) -> float:
    return overflow_probability(_paged(lengths, page_tokens), requests, kv_tokens)


@lru_cache(maxsize=4096)
def _held(lengths: LengthMix, kv_tokens: int, page_tokens: int, overflow_fraction: float) -> int:
    return requests_held(_paged(lengths, page_tokens), kv_tokens, overflow_fraction)
