"""Option groups of the questions that replay a trace in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How far the search goes, and its picture."""

    refine: Annotated[bool, Parameter(negative="")] = False
    """Go on replaying cells, the most doubtful first; stop it at any time (Ctrl-C) for the best so far."""
    confirm: bool = True
    """Put the best split, its neighbours and the default to the whole scheduler."""
    picture: str | None = None
    """Draw the surface to this file: `.svg` or `.png`."""


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
