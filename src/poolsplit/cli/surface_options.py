"""Option groups of the questions that replay a trace in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetOptions:
    """Bytes that both pools share on one rank."""

    budget: str | None = None
    """Bytes for both pools, such as `60GiB`."""
    state_bytes: int | None = None
    """Bytes of one state slot."""
    kv_bytes: float | None = None
    """Bytes of one KV token."""
    plan: str | None = None
    """Take all three from the JSON of `poolsplit plan`."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """What decides which prefixes survive."""

    strategy: Literal["no_buffer", "extra_buffer", "extra_buffer_lazy"] | None = None
    """Where checkpoints come from."""
    page_size: int | None = None
    """Tokens of a page."""
    chunked_prefill_size: str | None = None
    """New tokens of one prefill batch."""
    track_interval: str | None = None
    """Tokens between two decode snapshots."""
    state_chunk: str | None = None
    """Tokens between two states of the model's recurrent kernel."""
    max_states_per_path: int | None = None
    """Soft cap on the states of a path."""
    engine_version: str | None = None
    """Release whose cache law is followed."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OrderOptions:
    """In which order requests start and finish."""

    mode: Literal["order", "recorded", "closed"] = "order"
    """As they stand, at recorded times, or by sessions that wait for their answers and think."""
    sessions: int | None = None
    """Open sessions (closed), or requests outstanding at once (order, 1)."""
    prefill_tokens_per_s: float | None = None
    """How fast a prompt is read; with the other speed it replaces recorded durations. The scheduler needs both."""
    decode_tokens_per_s: float | None = None
    """How fast an answer is written."""
    longest_think: str | None = None
    """Longer pauses of a client are cut to this (10s)."""
