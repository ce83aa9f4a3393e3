"""Why a field of a plan's document is null: each unknown stands beside its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_ASKED = "not asked for"
_NO_MODEL = "the log does not tell it, and its model is not known"

PLAN = {
    "cache": "the launch keeps no prefixes, or only a log tells of it",
    "sessions": f"{_NOT_ASKED}: --sessions",
    "mix": "every request has the same length",
    "compared": f"{_NOT_ASKED}: --compare-version",
    "trace": f"{_NOT_ASKED}: --goal",
    "free_after_pools_bytes": "free memory after the weights is not known",
    "current": "the launch does not start as it is",
}
CACHE = {
    "track_interval": "the strategy takes no snapshots while decoding",
    "state_chunk": "the model names none: 64",
    "max_states_per_path": "no limit is set",
    "hicache_ratio": "no host tier by a ratio",
    "hicache_size": "no host tier by a size",
    "hicache_write_policy": "no host tier",
}
WORKLOAD = {
    "input_tokens_mean": "only total lengths are given",
    "concurrency": f"{_NOT_ASKED}: --concurrency",
    "concurrency_median": f"{_NOT_ASKED}: --concurrency-median",
}
CONSTANTS = {
    "state_bytes_per_slot": _NO_MODEL,
    "kv_bytes_per_token": "no layer keeps KV rows",
    "token_equiv": "no slot or no row to divide",
    "slots_per_request": _NO_MODEL,
    "token_equiv_published": "the published division goes by the pool lines of a log",
}
SPLIT = {
    "state_to_kv_ratio": "slots are pinned",
    "max_mamba_cache_size": "the split is by ratio",
    "state_slots": "there is no state pool",
    "swa_tokens": "the model has no window pool",
    "held_slots_per_request": "not measured at this many slots a request",
    "predicted_state_usage_fraction": "what a running request holds is not measured",
    "effective_ratio": "there is no state pool",
}
STAGE = {"state_layers": _NO_MODEL, "kv_layers": _NO_MODEL}
SESSIONS = {"state_slots_needed_at_median": f"{_NOT_ASKED}: --concurrency-median"}
TRACE = {
    "sessions": "the trace is replayed without sessions",
    "binding": "neither pool gains from another GiB",
    "cliff_pool": "no breakdown is near this split",
    "cliff_tokens": "no breakdown is near this split, or the order does not fit beyond it",
}
COMPARED = {
    "figures": "that release refuses the launch",
    "refused": "that release starts the launch",
    "delta_slots": "one of the releases refuses the launch",
    "delta_requests": "one of the releases refuses the launch",
    "delta_kv_tokens": "one of the releases refuses the launch",
    "free_after_pools_bytes": "free memory after the weights is not known, or the launch is refused",
    "delta_free_bytes": "free memory after the weights is not known, or the launch is refused",
}


def with_reasons(fields: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """The fields, each null one followed by its `_reason` unless one is there."""
    told: dict[str, Any] = {}
    for name, value in fields.items():
        told[name] = value
        reason = f"{name}_reason"
        if value is None and name in reasons and reason not in fields:
            told[reason] = reasons[name]
    return told
