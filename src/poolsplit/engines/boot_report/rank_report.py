"""What one rank's lines say, and what follows from their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.boot_report.interval import Interval, total

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import (
        Batch,
        CheckpointPool,
        GraphCapture,
        HostKv,
        HostState,
        KvPool,
        PrintedSize,
        RequestCap,
        RingBuffers,
        StatePool,
        Summary,
        WeightLoad,
        WindowPool,
    )

LARGEST_PAGE_TOKENS = 256
"""No page is larger; the KV pool holds one page more than it hands out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankReport:
    """One rank's lines. `label` is the text after the time, verbatim; `-` without one."""

    label: str
    state: StatePool | None = None
    kv: tuple[KvPool, ...] = ()
    """The target's pool first, a draft's after it: not to be added up."""
    rings: RingBuffers | None = None
    checkpoints: CheckpointPool | None = None
    window: WindowPool | None = None
    load_begin: PrintedSize | None = None
    loads: tuple[WeightLoad, ...] = ()
    pool_ends: tuple[PrintedSize, ...] = ()
    graphs: tuple[GraphCapture, ...] = ()
    host_kv: HostKv | None = None
    host_state: HostState | None = None
    image_reserve: PrintedSize | None = None
    baseline: PrintedSize | None = None
    summary: Summary | None = None
    cap: RequestCap | None = None
    batches: tuple[Batch, ...] = ()
    """The first periodic lines; the rest only counts in the run-time report."""
    page_tokens: int | None = None

    @property
    def after_weights(self) -> PrintedSize | None:
        """Free memory after the last weight load."""
        return self.loads[-1].available if self.loads else None

    @property
    def state_bytes(self) -> Interval | None:
        """The state pool without scratch: state slots and one padding slot."""
        return total((self.state.conv, self.state.ssm)) if self.state else None

    @property
    def scratch_bytes(self) -> Interval | None:
        """Verify scratch of speculation."""
        return total((self.state.scratch_ssm, self.state.scratch_conv)) if self.state else None

    @property
    def kv_bytes(self) -> Interval | None:
        """All KV pools, drafts included; None when one of the target's two sizes is missing."""
        parts = [_kv_total(pool) for pool in self.kv]
        known = [part for part in parts if part is not None]
        if not known or parts[0] is None:
            return None
        return Interval(low=sum(part.low for part in known), high=sum(part.high for part in known))

    @property
    def state_bytes_per_slot(self) -> Interval | None:
        """Bytes of one slot: the pool holds one padding slot more than it hands out, so K + 1."""
        return self._per_slot(self.state_bytes)

    @property
    def ssm_bytes_per_slot(self) -> Interval | None:
        """The recurrent part of one slot."""
        return self._per_slot(total((self.state.ssm,))) if self.state else None

    @property
    def conv_bytes_per_slot(self) -> Interval | None:
        """The convolution window of one slot."""
        return self._per_slot(total((self.state.conv,))) if self.state else None

    @property
    def scratch_states(self) -> Interval | None:
        """How many states the scratch holds: (requests + 1) x draft states."""
        if self.state is None or self.ssm_bytes_per_slot is None or self.state.scratch_ssm is None:
            return None
        scratch = total((self.state.scratch_ssm,))
        return scratch.over(self.ssm_bytes_per_slot) if scratch else None

    @property
    def kv_tokens(self) -> int | None:
        """Rows of the target's KV pool."""
        return self.kv[0].tokens if self.kv else None

    @property
    def kv_bytes_per_token(self) -> Interval | None:
        """Bytes of one KV row, drafts included; the pool holds one page more than it hands out."""
        return self._per_row(self.kv_bytes, self.kv_tokens)

    def row_bytes(self, pool: int) -> Interval | None:
        """Bytes of one row of one KV pool: 0 is the target's, later ones a draft's."""
        return self._per_row(_kv_total(self.kv[pool]), self.kv[pool].tokens) if pool < len(self.kv) else None

    @property
    def token_equiv(self) -> Interval | None:
        """KV rows that one state slot is worth."""
        slot, row = self.state_bytes_per_slot, self.kv_bytes_per_token
        return slot.over(row) if slot and row else None

    @property
    def rest_bytes(self) -> Interval | None:
        """What both pools share: the sum of the printed pools."""
        parts = (self.state_bytes, self.kv_bytes)
        if parts[0] is None or parts[1] is None:
            return None
        rings = total(self.rings.sizes) if self.rings else None
        known = [part for part in (*parts, self.scratch_bytes, rings) if part is not None]
        return Interval(low=sum(part.low for part in known), high=sum(part.high for part in known))

    @property
    def implied_static_fraction(self) -> Interval | None:
        """The static fraction that these pools follow from: 1 - (free after weights - pools) / free before."""
        if self.load_begin is None or self.after_weights is None or self.rest_bytes is None:
            return None
        low = 1 - (self.after_weights.high_bytes - self.rest_bytes.low) / self.load_begin.low_bytes
        high = 1 - (self.after_weights.low_bytes - self.rest_bytes.high) / self.load_begin.high_bytes
        return Interval(low=low, high=high)

    @property
    def unexplained_bytes(self) -> Interval | None:
        """Memory that went between the weights and the end of the pools and that no pool line names."""
        if self.after_weights is None or not self.pool_ends or self.rest_bytes is None:
            return None
        end = self.pool_ends[-1]
        return Interval(
            low=self.after_weights.low_bytes - end.high_bytes - self.rest_bytes.high,
            high=self.after_weights.high_bytes - end.low_bytes - self.rest_bytes.low,
        )

    def _per_slot(self, size: Interval | None) -> Interval | None:
        if size is None or self.state is None or self.state.state_slots is None or self.state.state_slots < 0:
            return None
        rows = self.state.state_slots + 1
        return Interval(low=size.low / rows, high=size.high / rows)

    def _per_row(self, size: Interval | None, tokens: int | None) -> Interval | None:
        if size is None or not tokens or tokens <= 0:
            return None
        largest = self.page_tokens or LARGEST_PAGE_TOKENS
        return Interval(low=size.low / (tokens + largest), high=size.high / (tokens + (self.page_tokens or 1)))


def _kv_total(pool: KvPool) -> Interval | None:
    if pool.kv is not None:
        return total((pool.kv,))
    return total((pool.k, pool.v)) if pool.k is not None and pool.v is not None else None
