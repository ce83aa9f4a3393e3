"""The periodic lines of a running server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Batch, Retraction
from poolsplit.engines.sglang.boot_log.figures import INTEGER, find_integer

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

_KIND = re.compile(r"(Decode|Prefill)batch(?:\[\d{1,18}\])?[,.]")
_INTEGERS = {
    "running": re.compile("#running-req:" + INTEGER),
    "queue": re.compile("#queue-req:" + INTEGER),
    "new_tokens": re.compile("#new-token:" + INTEGER),
    "cached_tokens": re.compile("#cached-token:" + INTEGER),
    "kv_tokens": re.compile("#(?:full)?token:" + INTEGER),
    "state_slots": re.compile("mambanum:" + INTEGER),
}
_FRACTION = r"(\d{1,18}(?:\.\d{1,18})?)(?=,|$|[^\d.])"
_KV_USAGE = re.compile("(?:full|(?<!swa)(?<!mamba))tokenusage:" + _FRACTION)
_STATE_USAGE = re.compile("mambausage:" + _FRACTION)
_RETRACTED = re.compile("#retracted_reqs:" + INTEGER)


def batch(record: Record) -> Fact | None:
    """`Prefill batch, ...` and `Decode batch, ...`; any field may be missing."""
    match = _KIND.search(record.squeezed)
    if not match:
        return None
    text = record.squeezed[match.end() :]
    return Batch(
        kind=match[1].lower(),
        kv_usage_fraction=_fraction(_KV_USAGE, text),
        state_usage_fraction=_fraction(_STATE_USAGE, text),
        **{name: find_integer(pattern, text) for name, pattern in _INTEGERS.items()},
    )


def retraction(record: Record) -> Fact | None:
    """`KV cache pool is full. Retract requests. #retracted_reqs: N, ...`; not the engine's own test mode."""
    if "Retractrequests" not in record.squeezed:
        return None
    count = find_integer(_RETRACTED, record.squeezed)
    return Retraction(requests=1 if count is None else count)


def _fraction(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    return float(match[1]) if match else None
