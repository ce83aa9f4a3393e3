"""One prefill pass: which requests are let in, and how much of each (docs/replay.md sections 6 and 7)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from poolsplit.replay.arithmetic import first_chunk, next_chunk, output_to_come, pages_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.cache import Cache
    from poolsplit.replay.reference.live import Live


class Verdict(Enum):
    """What a pass may still take."""

    OPEN = "open"
    NO_ROOM = "no room"
    """The KV pool cannot promise more."""
    SPENT = "spent"
    """A token budget of the pass is used up."""


class PrefillPass:
    """The budgets of one pass and what it has chosen."""

    def __init__(self, config: ReplayConfig, cache: Cache, running: Sequence[Live], ratio: float) -> None:
        riding = len(running) if config.mixed_chunks else 0
        self._config = config
        self._cache = cache
        self._input_left = config.max_prefill_tokens - riding
        self._chunk_left = config.chunk_tokens - riding
        self._promised: float = riding + sum(_expected_output(live, config, ratio) for live in running)
        self._promised_now = riding
        self._slots_left = cache.pools.states_available + cache.pools.state_evictable
        """Under unified memory, slots that this pass may still give."""
        self.chosen: list[Live] = []
        self.cut: Live | None = None
        """The request that got a chunk only."""

    def continue_chunked(self, live: Live) -> None:
        """Gives the chunked request its next chunk; it is never refused."""
        uncached = live.filled - live.prefix
        chunk = next_chunk(uncached, self._chunk_left, self._room)
        self._choose(live, chunk)

    def consider(self, live: Live) -> Verdict:
        """Admits a request if its need fits the room, its matched prefix held meanwhile."""
        if live.match is None:
            raise AssertionError("a request is looked up before it is considered")
        if self._slots_of(live) > self._slots_left:
            return Verdict.NO_ROOM
        hold = self._cache.lock(live.match)
        chunk, verdict = self._fitting_chunk(live, live.host_hit)
        if verdict is Verdict.OPEN and live.needs_load:
            chunk, verdict = self._load(live, chunk)
        if verdict is Verdict.OPEN:
            live.lock = self._cache.lock(live.match)
            self._choose(live, chunk)
        self._cache.unlock(hold)
        return self.verdict() if verdict is Verdict.OPEN else verdict

    def verdict(self) -> Verdict:
        """What the next candidate may expect."""
        if self._room <= 0 or self._room_now <= 0 or (self._config.unified is not None and self._slots_left <= 0):
            return Verdict.NO_ROOM
        return Verdict.SPENT if self._input_left <= 0 or self._chunk_left <= 0 else Verdict.OPEN

    @property
    def _supply(self) -> int:
        return self._cache.pools.kv_available + self._cache.pools.kv_evictable

    @property
    def _room(self) -> float:
        return self._supply - self._promised

    @property
    def _room_now(self) -> int:
        return self._supply - self._promised_now

    def _load(self, live: Live, chunk: int) -> tuple[int, Verdict]:
        """Loads what of the prefix is on the host; without it the request is judged anew."""
        loaded = 0 if self._cache.tiers is None else self._cache.tiers.load(live)
        if loaded < live.host_hit:
            return self._fitting_chunk(live, 0)
        live.prefix += loaded
        live.protected = live.prefix
        return min(chunk, live.filled - live.prefix), Verdict.OPEN

    def _fitting_chunk(self, live: Live, host_hit: int) -> tuple[int, Verdict]:
        """The chunk after what the device and the host hold; what has to be loaded takes room like what is computed."""
        page = self._config.page_tokens
        uncached = live.filled - live.prefix
        to_come = output_to_come(max(live.max_new, live.outputs), live.outputs, self._config.rules.decode_clip_tokens)
        if uncached + to_come + page + self._slot_tokens(live) >= self._room:
            return 0, Verdict.NO_ROOM
        chunk = first_chunk(live.prefix + host_hit, uncached - host_hit, self._chunk_left, page)
        return chunk, Verdict.OPEN if chunk > 0 else Verdict.SPENT

    def _slots_of(self, live: Live) -> int:
        """Slots that unified memory counts for a request before it has its own; tracking slots are not counted."""
        return 0 if self._config.unified is None or live.holds_slot else 1

    def _slot_tokens(self, live: Live) -> int:
        unified = self._config.unified
        return 0 if unified is None else self._slots_of(live) * unified.slot_cost_tokens

    def _choose(self, live: Live, chunk: int) -> None:
        live.chunk_end = live.prefix + chunk
        whole = live.chunk_end == live.filled
        if not whole:
            self.cut = live
        self.chosen.append(live)
        paged = pages_up(chunk, self._config.page_tokens)
        held = paged + self._config.page_tokens + self._slot_tokens(live)
        self._promised_now += held
        reserve = min(live.max_new, self._config.rules.decode_clip_tokens) if whole else 0
        self._promised += held + reserve
        self._slots_left -= self._slots_of(live)
        self._input_left -= paged
        self._chunk_left -= paged


def _expected_output(live: Live, config: ReplayConfig, ratio: float) -> float:
    share = 1.0 if live.request.ignores_stop else ratio
    return output_to_come(live.max_new, live.outputs, config.rules.decode_clip_tokens) * share
