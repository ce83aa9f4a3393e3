"""What is free in both pools, alone or in one buffer (docs/replay.md, 6 and 11)."""

from __future__ import annotations

from poolsplit.replay.kernel.layout import OUT_OF_KV, OUT_OF_STATES, World, compiled


@compiled
def kv_available(w: World) -> int:
    """KV tokens that can be taken now; under unified memory no more than the bytes that nobody has."""
    option, now = w.option[0], w.now[0]
    if not option.unified:
        return now.kv_free
    return min(now.kv_free, _gap_bytes(w) // option.page_bytes * option.page)


@compiled
def states_available(w: World) -> int:
    """State slots that can be taken now."""
    option, now = w.option[0], w.now[0]
    if not option.unified:
        return now.state_free
    named = now.state_free - (option.first_slot - 1)
    return max(0, min(named, _gap_bytes(w) // option.slot_bytes))


@compiled
def take_states(w: World, slots: int) -> None:
    """Takes free state slots; too few stop the replay, as they stop the engine."""
    if slots > states_available(w):
        w.now[0].status = OUT_OF_STATES
    w.now[0].state_free -= slots


@compiled
def take_kv(w: World, tokens: int) -> None:
    """Takes free KV tokens; too few stop the replay, as they stop the engine."""
    if tokens > kv_available(w):
        w.now[0].status = OUT_OF_KV
    w.now[0].kv_free -= tokens


@compiled
def set_aside(w: World, slots: int) -> None:
    """Under unified memory a pass sets slots aside for the requests that it may look up, all of them or none."""
    if w.option[0].unified and slots <= states_available(w):
        w.now[0].state_free -= slots
        w.now[0].aside = slots


@compiled
def return_aside(w: World) -> None:
    """Gives back what of them nobody took."""
    w.now[0].state_free += w.now[0].aside
    w.now[0].aside = 0


@compiled
def _gap_bytes(w: World) -> int:
    option, now = w.option[0], w.now[0]
    tokens, slots = option.kv_capacity - now.kv_free, option.state_capacity - now.state_free
    return max(0, option.free_bytes - tokens // option.page * option.page_bytes - slots * option.slot_bytes)
