"""What a server should show: a plan's figures, or what follows from its own start-up and its model."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from poolsplit.answers.live.plans import read_json
from poolsplit.errors import PoolsplitError
from poolsplit.live.constants import PoolConstants
from poolsplit.live.expected import Expected, from_facts, from_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.live_reading import ServerFacts

MAX_SERVERS = 64
"""Servers whose start-up is followed once; beyond that, again at every look."""
KV_BYTES_TOLERANCE = 0.02
"""A server prints its KV pool in thousandths of a GiB, and the pool holds one page more than it hands out."""


def expecter(plan: str | None) -> Callable[[ServerFacts | None], Expected | None]:
    """What a server should show: a plan's figures, or what follows from its own facts.

    Raises:
        InputError: The plan cannot be read.
    """
    if plan is not None:
        expected = from_plan(read_json(plan), where=plan)
        return lambda _facts: expected
    known: deque[tuple[ServerFacts, Expected]] = deque(maxlen=MAX_SERVERS)

    def from_server(facts: ServerFacts | None) -> Expected | None:
        if facts is None:
            return None
        for seen, expected in known:
            if seen == facts:
                return expected
        known.append((facts, _expected_of(facts)))
        return known[-1][1]

    return from_server


def _expected_of(facts: ServerFacts) -> Expected:
    try:
        constants, reason = _constants_of(facts)
    except PoolsplitError as error:
        constants, reason = None, str(error)
    except Exception as error:  # noqa: BLE001 - a server's word, whatever it is, does not stop the watch
        constants, reason = None, f"its arguments cannot be followed: {type(error).__name__}: {error}"
    return from_facts(facts, constants, constants_reason=reason)


def _constants_of(facts: ServerFacts) -> tuple[PoolConstants | None, str | None]:
    """Constants of an embedded model or a local config; a server's word never opens the network."""
    from poolsplit.engines.sglang.pool_constants import constants_of
    from poolsplit.hub import find_model
    from poolsplit.shapes import catalog

    path = facts.model_path or ""
    if not path or (catalog.find(path) is None and not Path(path).exists()):
        return None, f"`{path}` is no embedded model: give a plan"
    if facts.draft_path:
        return None, "the server speculates with a draft checkpoint: give a plan"
    found = find_model(path)
    price = constants_of(found.shape, facts)
    if price is None:
        return None, f"`{path}` has no state layers"
    unlike = _unlike_rows(facts, price.first_stage_kv_bytes_per_token)
    if unlike:
        return None, unlike
    return (
        PoolConstants(
            state_bytes_per_slot=price.state_bytes_per_slot,
            kv_bytes_per_token=price.kv_bytes_per_token,
            slots_per_request=price.slots_per_request,
            draft_states=price.draft_states,
            dcp_size=facts.dcp_size,
            origin=found.origin,
        ),
        None,
    )


def _unlike_rows(facts: ServerFacts, row: float) -> str | None:
    """Why the server's KV rows cannot be those of this model; its figure leaves a draft's rows out."""
    if not facts.kv_pool_bytes or not facts.kv_tokens:
        return None
    measured = facts.kv_pool_bytes / facts.kv_tokens
    fewer_is_wrong = not facts.draft_states
    if measured > row * (1 + KV_BYTES_TOLERANCE) or (fewer_is_wrong and measured < row * (1 - KV_BYTES_TOLERANCE)):
        return f"the server's KV rows take {measured:,.0f} bytes, the model's {row:,.0f}: give a plan"
    return None
