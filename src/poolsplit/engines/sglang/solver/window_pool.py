"""Models with window layers that have a pool of their own: full and window rows from one byte budget."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.solver import refused
from poolsplit.engines.sglang.solver.kv_pool import KvPool
from poolsplit.units import align_down, align_up

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowRows:
    """Bytes of one token on each side, on one rank."""

    full_row_bytes: int
    """All full-attention layers of the stage and the draft layers that follow them."""
    window_layer_bytes: int
    """One window layer."""
    window_layers: int
    draft_window_row_bytes: int = 0
    """Draft layers of window geometry that keep a row for every full token."""
    draft_full_row_bytes: int = 0
    """The part of `full_row_bytes` that is the draft's."""
    draft_row_bytes: int = 0
    """A draft with rows of its own."""

    @property
    def window_row_bytes(self) -> int:
        """All window layers of the stage."""
        return self.window_layer_bytes * self.window_layers


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WindowSizer:
    """Full rows and, in a fixed ratio to them, window rows."""

    rows: WindowRows
    ratio: float
    window_tokens: int
    page_size: int
    has_full_layers: bool
    checks_window: bool
    """Whether a window pool below one request is refused."""
    share_per_layer: bool
    """The ratio multiplies one layer before the layers; the last bit of a float depends on it."""
    searches: bool
    """Under unified memory the largest pools whose allocation fits are searched, not divided."""

    @property
    def cell_bytes(self) -> int | float:
        """Bytes of one full row with its share of the window pool; of one window row without full layers."""
        rows = self.rows
        if not self.has_full_layers:
            return rows.window_row_bytes + rows.full_row_bytes + rows.draft_window_row_bytes + rows.draft_row_bytes
        shared = rows.full_row_bytes + rows.draft_window_row_bytes
        if self.share_per_layer:
            return shared + self.ratio * rows.window_layer_bytes * rows.window_layers + rows.draft_row_bytes
        return shared + self.ratio * rows.window_row_bytes + rows.draft_row_bytes

    def from_bytes(self, budget_bytes: int, pp_rank: int) -> KvPool:
        """Pools that a byte budget holds.

        Raises:
            LaunchRefusedError: The stage has no window layer.
        """
        if not self.rows.window_layers:
            raise refused.at_stage("stage_without_window", pp_rank)
        if self.searches and self.has_full_layers:
            return self.from_tokens(search_full_tokens(self, budget_bytes), pp_rank)
        return self.from_tokens(int(budget_bytes // self.cell_bytes), pp_rank)

    def from_tokens(self, kv_tokens: int, pp_rank: int) -> KvPool:
        """Pools of a row count; rounded down to whole pages.

        Raises:
            LaunchRefusedError: The window pool cannot hold one request, or there is no whole page.
        """
        tokens = align_down(kv_tokens, self.page_size)
        window = self.window_share(tokens) if self.has_full_layers else tokens
        if self.has_full_layers and self.checks_window and self.window_tokens + self.page_size >= window:
            raise refused.at_stage(
                "swa_pool_below_one_request",
                pp_rank,
                swa_tokens=window,
                window=self.window_tokens,
                page_size=self.page_size,
            )
        if tokens <= 0:
            raise refused.at_stage("kv_pool_empty", pp_rank)
        return KvPool(kv_tokens=tokens, full_tokens=tokens if self.has_full_layers else 0, window_tokens=window)

    def window_share(self, full_tokens: int) -> int:
        """Window rows beside so many full rows."""
        return align_down(int(full_tokens * self.ratio), self.page_size)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CappedWindowSizer:
    """A window pool for the asked-for requests at their worst, and full rows from the rest."""

    base: WindowSizer
    cap_tokens: int
    draft_in_full: bool
    """Whether a draft's own rows are counted beside the full ones."""

    @property
    def cell_bytes(self) -> int | float:
        """As without a cap: the figure that the engine keeps."""
        return self.base.cell_bytes

    def from_bytes(self, budget_bytes: int, pp_rank: int) -> KvPool:
        """Pools that a byte budget holds.

        Raises:
            LaunchRefusedError: The capped window pool leaves no full row.
        """
        rows, page = self.base.rows, self.base.page_size
        if not rows.window_layers:
            raise refused.at_stage("stage_without_window", pp_rank)
        window = align_up(self.cap_tokens, page)
        window_bytes = window * rows.window_row_bytes
        if self.base.searches and _draft_bytes(rows):
            tokens = search_full_tokens(self.base, budget_bytes, window)
        else:
            full_bytes = rows.full_row_bytes + rows.draft_window_row_bytes
            full_bytes += rows.draft_row_bytes if self.draft_in_full else 0
            tokens = align_down(int((budget_bytes - window_bytes) // full_bytes), page)
        if tokens <= 0:
            raise refused.at_stage("swa_cap_leaves_no_kv", pp_rank, swa_tokens=window)
        return KvPool(kv_tokens=tokens, full_tokens=tokens, window_tokens=window)

    def from_tokens(self, kv_tokens: int, pp_rank: int) -> KvPool:
        """Pools of a capped row count; the window pool keeps its cap.

        Raises:
            LaunchRefusedError: There is no whole page.
        """
        tokens = align_down(kv_tokens, self.base.page_size)
        if tokens <= 0:
            raise refused.at_stage("kv_pool_empty", pp_rank)
        window = min(align_up(self.cap_tokens, self.base.page_size), kv_tokens)
        return KvPool(kv_tokens=tokens, full_tokens=tokens, window_tokens=window)


def search_full_tokens(sizer: WindowSizer, budget_bytes: int, window_tokens: int | None = None) -> int:
    """Largest whole pages of full rows whose buffer, and a draft over its whole address space, fit the budget."""
    rows, page = sizer.rows, sizer.page_size
    own_full = rows.full_row_bytes - rows.draft_full_row_bytes
    drafts = _draft_bytes(rows)

    def allocated(pages: int) -> int:
        full = pages * page
        window = sizer.window_share(full) if window_tokens is None else window_tokens
        target = full * own_full + window * rows.window_row_bytes
        spanned = align_up(max(target // own_full - 1, 0), page) + page
        return target + spanned * drafts

    most = budget_bytes // own_full // page
    return max(bisect_right(range(most + 1), budget_bytes, key=allocated) - 1, 0) * page


def request_cap_tokens(resolved: ResolvedFlags, window_tokens: int, requests: int) -> int:
    """Window rows that the asked-for requests can hold at once at their worst.

    Source: the engine's cap of the window pool; held by the golden answers.
    """
    page, drafts = resolved.page_size, resolved.speculative_num_draft_tokens or 1
    eviction = _DEFAULT_EVICTION if resolved.swa_eviction_interval is None else resolved.swa_eviction_interval
    trailing = window_tokens + max(1, eviction) * drafts + page
    per_request = trailing + _decode_tokens(resolved)
    if resolved.disaggregation_mode == "decode":
        return per_request * requests + (window_tokens + page) * resolved.decode_extra_slots
    chunks = 1 if resolved.disable_overlap_schedule else 2
    return per_request * requests + chunks * resolved.chunked_prefill_size + page


_DEFAULT_EVICTION = 128
_DRAFTS_WITHOUT_KV = frozenset({"NGRAM"})


def _draft_bytes(rows: WindowRows) -> int:
    return rows.draft_full_row_bytes + rows.draft_window_row_bytes + rows.draft_row_bytes


def _decode_tokens(resolved: ResolvedFlags) -> int:
    """Rows that one request may take in a decode step."""
    if resolved.speculative_algorithm is None:
        return resolved.page_size
    steps = resolved.speculative_num_steps or 1
    topk = resolved.speculative_eagle_topk or 1
    drafts = resolved.speculative_num_draft_tokens or 1
    if resolved.disable_overlap_schedule:
        return _paged_step(steps, topk, drafts, resolved.page_size)
    page = resolved.page_size * resolved.dcp_size
    if page == 1 or topk == 1 or resolved.speculative_algorithm in _DRAFTS_WITHOUT_KV:
        return 2 * max(steps * topk, drafts)
    pages_per_branch = (page - 1 + steps + page - 1) // page
    return 2 * max(pages_per_branch * page * topk, drafts)


def _paged_step(steps: int, topk: int, drafts: int, page: int) -> int:
    if page > 1 and topk > 1:
        steps = align_up(steps + page, page)
    elif page > 1:
        steps = align_up(steps, page)
    if page > 1:
        drafts = align_up(drafts, page)
    return max(steps * topk, drafts)
