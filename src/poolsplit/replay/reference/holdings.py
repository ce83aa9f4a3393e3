"""What a running request holds in both pools, and how it gives it back (docs/replay.md sections 3, 4 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.replay.arithmetic import (
    NONE,
    donated_position,
    inserted_position,
    kept_snapshot,
    owned_tokens,
    pages_up,
    prefill_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.cache import Cache
    from poolsplit.replay.reference.live import Live


class Holdings:
    """Slots and KV of running requests, taken from and returned to the pools."""

    def __init__(self, config: ReplayConfig, cache: Cache) -> None:
        self._config = config
        self._cache = cache

    def match(self, live: Live) -> None:
        """Looks a request up before admission and takes the slot that its matched state is copied to."""
        found = self._cache.lookup(live.tokens, live.filled - 1)
        live.match, live.branch = found.node, found.branch
        live.found, live.host_hit = found.found, found.host_hit
        live.prefix = live.protected = found.matched
        if not found.found.has_state:
            return
        live.holds_slot = True
        if self._cache.pools.aside > 0:
            self._cache.pools.aside -= 1
            return
        if self._cache.pools.states_available < 1:
            hold = self._cache.lock(found.found)
            self._cache.evictor.free_states_to(1)
            self._cache.unlock(hold)
        self._cache.pools.take_states(1)

    def give_slot_back(self, live: Live) -> None:
        """A refused request returns its copy target; what was evicted for it stays evicted."""
        self._cache.pools.state_free += live.holds_slot
        live.holds_slot = False

    def take_for_prefill(self, chosen: Sequence[Live]) -> None:
        """Takes slots, then KV, for a whole prefill batch, and decides where each chunk's snapshot lies."""
        pools, page = self._cache.pools, self._config.page_tokens
        fresh = [live for live in chosen if live.prefill_batches == 0]
        slots = sum(self._config.tracking_slots + (not live.holds_slot) for live in fresh)
        self._cache.evictor.free_states_to(slots)
        pools.take_states(slots)
        for live in fresh:
            live.holds_slot, live.tracking = True, self._config.tracking_slots
        margin = page * len(chosen) if page > 1 else 0
        self._cache.evictor.free_kv_to(sum(live.chunk_end - live.prefix for live in chosen) + margin)
        for live in chosen:
            pools.take_kv(pages_up(live.chunk_end, page) - pages_up(live.prefix, page))
            live.committed = live.chunk_end
            live.prefill_batches += 1
            self._track_chunk(live)

    def decode_fits(self, running: Sequence[Live]) -> bool:
        """Evicts for the next decode step and tells whether its new pages are there."""
        page = self._config.page_tokens
        need = page * sum(live.committed % page == 0 for live in running)
        self._cache.evictor.free_kv_to(need)
        return self._cache.pools.kv_available >= need

    def take_for_decode(self, running: Sequence[Live]) -> list[int]:
        """Takes KV for one decode step; gives each request's length if the step writes a snapshot there, else none."""
        pools, page = self._cache.pools, self._config.page_tokens
        if page > 1:
            self._cache.evictor.free_kv_to(page * len(running))
        pools.take_kv(page * sum(live.committed % page == 0 for live in running))
        boundaries = []
        for live in running:
            live.committed += 1
            at_boundary = self._config.tracks and live.committed % self._config.track_grid_tokens == 0
            boundaries.append(live.committed if at_boundary else NONE)
            if at_boundary and self._config.lazy:
                self._take_second_slot(live)
        return boundaries

    def return_second_slot(self, live: Live) -> None:
        """A lazy request gives up the tracking slot it no longer needs."""
        if self._config.lazy and live.tracking > 1:
            live.tracking -= 1
            self._cache.pools.state_free += 1

    def snapshot_done(self, live: Live, position: int) -> None:
        """The result of a step that wrote a snapshot is in."""
        live.previous = NONE if self._config.lazy else live.last
        live.last = position
        self.return_second_slot(live)

    def checkpoint(self, live: Live) -> None:
        """Puts what a prefill chunk computed into the tree, up to its snapshot, and hands the lock over."""
        tracks, sparse = self._config.tracks, self._config.rules.sparse_checkpoints
        position = inserted_position(live.last if tracks else live.chunk_end, live.branch, tracks, sparse)
        if position != NONE:
            self._take_replacement_slot(live)
            if not self._insert(live, position):
                self._cache.pools.state_free += 1
        if position != NONE or not sparse:
            live.last = live.previous = NONE
        live.prefix = live.chunk_end

    def finish(self, live: Live) -> None:
        """A finished request gives its last usable snapshot to the tree and everything else back."""
        owned = owned_tokens(live.committed, live.prompt, live.outputs, live.max_new)
        position = owned
        if self._config.tracks:
            position = donated_position(live.last, live.previous, owned, self._config.tracking_slots)
        kept = position != NONE and self._insert(live, position)
        self._cache.pools.state_free -= kept
        self.release(live)

    def release(self, live: Live) -> None:
        """Returns private KV, the lock and all slots."""
        self._cache.pools.kv_free += pages_up(live.committed, self._config.page_tokens) - live.protected
        if live.lock is not None:
            self._cache.unlock(live.lock)
        live.lock = None
        self._cache.pools.state_free += live.tracking + live.holds_slot
        live.tracking, live.holds_slot = 0, False

    def _track_chunk(self, live: Live) -> None:
        if not self._config.tracks:
            return
        position = prefill_snapshot(
            live.prefix,
            live.chunk_end,
            live.branch,
            self._config.checkpoint_grid_tokens,
            self._config.state_step_tokens,
            self._config.state_chunk_tokens,
        )
        ends_prompt = live.chunk_end == live.filled
        kept = kept_snapshot(position, live.branch, ends_prompt, self._config.rules.sparse_checkpoints)
        if kept != NONE:
            live.last = kept

    def _take_second_slot(self, live: Live) -> None:
        """Nothing is evicted for it; without it the snapshot overwrites the last one, which is forgotten at once."""
        if self._cache.pools.states_available > 0:
            self._cache.pools.take_states(1)
            live.tracking += 1
        else:
            live.last = NONE

    def _take_replacement_slot(self, live: Live) -> None:
        if self._cache.pools.states_available < 1:
            release_first = self._config.lazy and self._config.rules.lazy_lock_release
            if release_first and live.lock is not None and live.lock.holds_state:
                live.lock = self._cache.unlock_state(live.lock)
            self._cache.evictor.free_states_to(1)
        self._cache.pools.take_states(1)

    def _insert(self, live: Live, position: int) -> bool:
        done = self._cache.insert(live.tokens, position, protected=live.protected, counted=live.counted)
        live.counted = max(live.counted, done.length)
        if live.lock is not None:
            self._cache.unlock(live.lock)
        live.lock = self._cache.lock(done.node, with_state=not self._config.skip_decode_lock)
        live.protected = done.length
        return done.state_kept
