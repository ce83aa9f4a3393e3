"""The unified memory that a command line or a plan asks of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError, UsageError
from poolsplit.replay.unified import UnifiedMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

UNIFIED_WORDS = ("enable_unified_memory", "state_bytes", "kv_bytes")
"""Words of the command line."""
UNIFIED_VERIFIED = (
    "decisions, against the engine's own buffer, tree and scheduler on a CPU: 336 of 336 random workloads equal in "
    "every field"
)
UNIFIED_NOT_VERIFIED = (
    "by reading, not verified against the engine: holes that cannot be closed yet, because a copy or a step still uses "
    "what lies behind them"
)


def unified_of(words: Mapping[str, Any], prices: Mapping[str, float]) -> UnifiedMemory | None:
    """The buffer's prices, from the line or from a plan; None where both pools are apart.

    Args:
        words: Those of `UNIFIED_WORDS` that are given.
        prices: `state_bytes_per_slot` and `kv_bytes_per_token` of a plan, or nothing.

    Raises:
        UsageError: Prices without a use, or none.
        InputError: A token that is no whole number of bytes.
    """
    slot_bytes, token_bytes = words.get("state_bytes"), words.get("kv_bytes")
    if not words.get("enable_unified_memory"):
        if slot_bytes is not None or token_bytes is not None:
            raise UsageError("bytes are of use with unified memory only", hint="add `--enable-unified-memory`")
        return None
    slot_bytes = prices.get("state_bytes_per_slot") if slot_bytes is None else slot_bytes
    token_bytes = prices.get("kv_bytes_per_token") if token_bytes is None else token_bytes
    if slot_bytes is None or token_bytes is None:
        raise UsageError(
            "unified memory needs the bytes of a state slot and of a KV token",
            hint="give `--state-bytes` and `--kv-bytes`, or `--plan plan.json`",
        )
    if not float(token_bytes).is_integer():
        raise InputError(
            f"a KV token takes {token_bytes:g} bytes", where="--kv-bytes", hint="give one rank's, a whole number"
        )
    return UnifiedMemory(slot_bytes=int(slot_bytes), token_bytes=int(token_bytes))
