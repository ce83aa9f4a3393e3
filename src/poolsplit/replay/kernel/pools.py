"""Free slots and tokens; too few stop the replay, as they stop the engine (docs/replay.md, 6)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import OUT_OF_KV, OUT_OF_STATES, World, compiled


@compiled
def take_states(w: World, slots: int) -> None:
    """Takes free state slots."""
    now = w.now[0]
    if slots > now.state_free:
        now.status = OUT_OF_STATES
    now.state_free -= slots


@compiled
def take_kv(w: World, tokens: int) -> None:
    """Takes free KV tokens."""
    now = w.now[0]
    if tokens > now.kv_free:
        now.status = OUT_OF_KV
    now.kv_free -= tokens
