"""Series that a monitoring server records from an engine's own, under names that no engine owns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSeries:
    """One recorded series."""

    name: str
    """Starts with `poolsplit:`."""
    expression: str
    """In the engine's own series."""
    unit: str
    """requests, slots, tokens, fraction, per second."""
    meaning: str


SPAN = "5m"
"""Time over which rates are taken."""
