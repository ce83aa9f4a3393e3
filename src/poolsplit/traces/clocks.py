"""Timestamps of any unit to seconds, and gaps that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from poolsplit.traces.reading import SECONDS_PER_UNIT

if TYPE_CHECKING:
    from poolsplit.traces.reading import TimeUnit
    from poolsplit.traces.trace import Floats, Ints

_EPOCH_UNITS: tuple[tuple[float, TimeUnit], ...] = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
"""A time since 1970 is at least this large in that unit (1e8 s is March 1973)."""


def unit_of(timestamps: Floats, *, default: TimeUnit) -> tuple[TimeUnit, bool]:
    """Unit of timestamps and whether they count from 1970: told by size, else the format's default from zero."""
    first = float(np.nanmin(timestamps)) if timestamps.size else 0.0
    for least, unit in _EPOCH_UNITS:
        if first >= least:
            return unit, True
    last = float(np.nanmax(timestamps)) if timestamps.size else 0.0
    if last >= _EPOCH_UNITS[1][0]:
        return "ns", False
    return default, False


def to_seconds(timestamps: Floats, *, unit: TimeUnit | None, default: TimeUnit) -> tuple[Floats, tuple[str, ...]]:
    """Seconds of timestamps, and a sentence on the unit when it is not the format's own.

    Times since 1970 count from the first one. A unit that cannot be told from the numbers is the format's default;
    relative seconds in a format that counts milliseconds need the user's word.
    """
    found, epoch = unit_of(timestamps, default=default)
    used = unit or found
    seconds = timestamps * SECONDS_PER_UNIT[used]
    if epoch:
        seconds = (timestamps - np.nanmin(timestamps)) * SECONDS_PER_UNIT[used]
    if used == default and not epoch:
        return seconds, ()
    told = "as asked" if unit else "told by their size"
    return seconds, (f"timestamps are read in {used}, {told}" + (", from the first one" if epoch else ""),)


def gaps(arrival_s: Floats, service_s: Floats, after: Ints) -> Floats:
    """Seconds between the end of the request before and each request; NaN where one of the times is not recorded.

    A request that was sent before the answer had come has the gap 0.
    """
    result = np.full(arrival_s.size, np.nan)
    rows = np.flatnonzero(after >= 0)
    before = after[rows]
    result[rows] = np.maximum(arrival_s[rows] - arrival_s[before] - service_s[before], 0.0)
    return result
