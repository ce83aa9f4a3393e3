"""Requests that a start-up grants: by KV rows, by state slots, by what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.slots import slots_per_request
from poolsplit.engines.sglang.solver import refused
from poolsplit.engines.sglang.solver.state_pool import requests_per_worker

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches

_ESTIMATE_FLOOR = 2048
_ESTIMATE_CEILING = 4096
_ESTIMATE_PER_CONTEXT = 512
_TOKENS_PER_REQUEST = 2


def grant_requests(
    kv_tokens: int, state_slots: int | None, resolved: ResolvedFlags, switches: Switches, pp_rank: int
) -> int:
    """Running requests per data-parallel worker.

    Raises:
        LaunchRefusedError: A model with state layers could not run one request.

    Source: the engine's request limit; held by the golden answers.
    """
    granted = min(request_limit(kv_tokens, resolved, switches), kv_tokens // _TOKENS_PER_REQUEST)
    if state_slots is None:
        return granted
    per_request = slots_per_request(resolved, pp_rank)
    granted = min(granted, state_slots // per_request)
    if granted <= 0:
        raise refused.at_stage(
            "below_one_request",
            pp_rank,
            max_mamba_cache_size=state_slots,
            slots_per_request=per_request,
            requests=granted,
        )
    return granted


def request_limit(kv_tokens: int, resolved: ResolvedFlags, switches: Switches) -> int:
    """Requests of one worker before rows and slots have their say: as asked, or estimated from rows and context."""
    asked = requests_per_worker(resolved, switches)
    if asked is not None:
        return asked
    estimate = int(kv_tokens / resolved.context_len * _ESTIMATE_PER_CONTEXT)
    return max(min(estimate, _ESTIMATE_CEILING), _ESTIMATE_FLOOR)
