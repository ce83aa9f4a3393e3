"""Unified memory: the byte budget that is recorded beside the pools' labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.units import align_down

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches

_BUFFER_ALIGNMENT_BYTES = 4096


def unified_bytes(budget_bytes: int, resolved: ResolvedFlags, switches: Switches, *, recapped: bool) -> int | None:
    """Byte budget of the KV side; None without unified memory, or where a cap on tokens sized the pools again."""
    if recapped or not (resolved.enable_unified_memory and switches.unified_records_bytes):
        return None
    return align_down(budget_bytes, _BUFFER_ALIGNMENT_BYTES)
