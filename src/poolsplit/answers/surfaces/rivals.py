"""Splits that a recommendation is compared with: the engine's default, and the one that stands now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.rules.families import DEFAULT_STATE_TO_KV_RATIO

if TYPE_CHECKING:
    from poolsplit.surface.cells import Split
    from poolsplit.surface.line import Budget


def default_split(budget: Budget) -> Split:
    """The split of the same bytes at the engine's default ratio."""
    return budget.split_at(DEFAULT_STATE_TO_KV_RATIO / (1 + DEFAULT_STATE_TO_KV_RATIO))


def same_split(budget: Budget, one: Split, other: Split) -> bool:
    """Two splits with equal slots whose KV differs by less than a slot's bytes, as pages and padding make it."""
    apart_bytes = abs(one.kv_tokens - other.kv_tokens) * budget.kv_bytes
    return one.state_slots == other.state_slots and apart_bytes < budget.state_bytes
