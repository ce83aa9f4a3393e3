"""The published closed form of the split, and the bytes it balances."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.engines.engine import Solution


def closed_form_ratio(
    *, slots_per_request: int, draft_states: int, token_equiv: float, tokens_per_request: float, dcp_size: int = 1
) -> float:
    """State to KV at which both pools serve the same number of requests: (S + D) x token_equiv x DCP / L.

    Args:
        slots_per_request: S, slots that one running request reserves.
        draft_states: D, verify states of one running request; 0 where verification takes none by the slot.
        token_equiv: Bytes of a state slot over bytes of a KV row, both on one rank.
        tokens_per_request: L, mean input and output of one request.
        dcp_size: Ranks that share the tokens of one request.

    Known error: no padding slot, no whole slots, no pages; D is charged whatever the request cap is. `optimum` finds
    the split that the solver itself agrees with.

    Source: the published balance of reserved slots; held by `test_balance`.
    """
    return (slots_per_request + draft_states) * token_equiv * dcp_size / tokens_per_request


def token_equiv(solution: Solution) -> float | None:
    """KV rows that one state slot is worth: the widest stage's slot over the widest stage's row.

    None for a model without state or without attention.
    """
    row = widest_row_bytes(solution)
    state = solution.pools.state
    return state.charged_bytes_per_slot / row if state is not None and row else None


def widest_row_bytes(solution: Solution) -> int | float:
    """Bytes of one KV row on the stage with most attention layers."""
    return max(stage.kv_bytes_per_token for stage in solution.pools.stages)


def formula_ratio(solution: Solution, tokens_per_request: float) -> float | None:
    """The closed form for one solved deployment; None where it does not apply."""
    worth = token_equiv(solution)
    slots = solution.pools.slots_per_request
    if worth is None or slots is None or tokens_per_request <= 0:
        return None
    return closed_form_ratio(
        slots_per_request=slots,
        draft_states=solution.balance_draft_states,
        token_equiv=worth,
        tokens_per_request=tokens_per_request,
        dcp_size=solution.dcp_size,
    )


def token_equiv_of_log(
    *, state_gib: float, state_slots: int, kv_gib: float, kv_tokens: int, padding_slots: int
) -> float:
    """The same from printed pool sizes.

    The published division takes `padding_slots` 0; the pool holds one slot more than it names, so 1 is right.
    """
    return (state_gib / (state_slots + padding_slots)) / (kv_gib / kv_tokens)


def effective_ratio(solution: Solution) -> float | None:
    """State to KV as the bytes really fell, before rows are rounded; None without a state pool.

    Differs from the ratio that was set where verify scratch is priced by the slot and taken by the request.
    """
    stage = solution.pools.stages[0]
    if stage.state is None:
        return None
    return (stage.state.pool_bytes + stage.state.verify_bytes) / stage.kv_budget_bytes
