"""The KV pool of one stage: a byte budget to rows, whole pages, and the caps that come after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from poolsplit.engines.sglang.solver import refused
from poolsplit.units import align_down

UNBOUNDED_TOKENS = 2**63 - 1
"""Rows of a stage without attention while other stages have some: the least over the stages decides."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KvPool:
    """Rows of one stage's KV side."""

    kv_tokens: int
    full_tokens: int | None = None
    window_tokens: int | None = None


class KvSizer(Protocol):
    """Turns a byte budget, or a capped row count, into pools of whole pages."""

    @property
    def cell_bytes(self) -> int | float:
        """Bytes of one row, as the engine keeps the figure."""
        ...

    def from_bytes(self, budget_bytes: int, pp_rank: int) -> KvPool:
        """Pools that a byte budget holds."""
        ...

    def from_tokens(self, kv_tokens: int, pp_rank: int) -> KvPool:
        """Pools of a capped row count."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PlainSizer:
    """One pool of rows of one size."""

    cell_bytes: int
    page_size: int
    rowless_tokens: int | None
    """Rows of a stage whose rows have no bytes; None where the release cannot divide by that."""

    def from_bytes(self, budget_bytes: int, pp_rank: int) -> KvPool:
        """Pools that a byte budget holds; rounded down to whole pages."""
        if self.cell_bytes:
            return self.from_tokens(budget_bytes // self.cell_bytes, pp_rank)
        if self.rowless_tokens is None:
            raise refused.at_stage("stage_without_attention", pp_rank)
        return self.from_tokens(self.rowless_tokens, pp_rank)

    def from_tokens(self, kv_tokens: int, pp_rank: int) -> KvPool:
        """Pools of a capped row count; rounded down to whole pages."""
        tokens = align_down(kv_tokens, self.page_size)
        if tokens <= 0:
            raise refused.at_stage("kv_pool_empty", pp_rank)
        return KvPool(kv_tokens=tokens)


def capped(pool: KvPool, sizer: KvSizer, cap: int | None, pp_rank: int) -> KvPool:
    """The pool under a cap on its rows, sized again when the cap binds."""
    return pool if cap is None or cap >= pool.kv_tokens else sizer.from_tokens(cap, pp_rank)
