"""How fast a server was, as single observations from its log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedLines:
    """Observations of one server, in the order of the log."""

    prefill: tuple[tuple[int, float], ...] = ()
    """New tokens of a prefill batch, and tokens a second until the next one began with nothing in between."""
    decode: tuple[tuple[int, float], ...] = ()
    """Running requests, and tokens a second of each of them, while their number stood still."""
    prefill_lines: int = 0
    """Prefill lines seen, usable or not."""
    decode_lines: int = 0
    """Decode lines seen, usable or not."""
