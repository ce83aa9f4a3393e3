"""SGLang's `/server_info` and `/v1/loads` to facts: what was asked for, what was granted, the pools' constants.

The top level holds the launch's arguments as resolved at start-up; what the solver made of them stands only in
`internal_states`, one a data-parallel worker: there `max_mamba_cache_size` is the computed number of state slots.
`kvcache` is attention K and V only: no endpoint reports the bytes of the state pool.

Source: release 0.5.23; `tests/differential/test_server_info.py` holds the keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from poolsplit.engines.live_reading import Advice, ServerFacts
from poolsplit.engines.sglang.flags import FLAG_NAMES
from poolsplit.engines.sglang.slots import slots_per_request
from poolsplit.errors import InputError, LaunchRefusedError
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

INFO_PATHS = ("/server_info", "/get_server_info")
"""Today's path, then the deprecated one that older releases have alone."""
LOADS_PATH = "/v1/loads?include=core"
METRICS_PATH = "/metrics"
METRICS_HINT = "start the server with `--enable-metrics`"

ADVICE = Advice(
    ratio="--mamba-full-memory-ratio",
    fewer_slots=("--mamba-radix-cache-strategy extra_buffer_lazy",),
    fewest_slots=4,
    smaller_state="--mamba-ssm-dtype bfloat16",
    host_size="--hicache-ratio",
    max_running="--max-running-requests",
    memory_fraction="--mem-fraction-static",
)

_STRATEGIES = ("no_buffer", "extra_buffer", "extra_buffer_lazy")
_SKIP_LOCK = "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK"
LEAST_ESTIMATE = 2048
_SECRET = re.compile(
    r"""(--(?:\w+[-_])*(?:key|apikey|token|password|secret)(?:=|\s+))(?!--)(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""",
    re.IGNORECASE,
)
"""A flag whose last word says that its value is secret: `--api-key`, not `--tokenizer-path`, `--max-total-tokens`."""
_STATE_KEYS = (
    "max_mamba_cache_size",
    "mamba_full_memory_ratio",
    "effective_max_running_requests_per_dp",
    "memory_usage",
    "env_vars",
)
_TOP_KEYS = (
    *sorted(FLAG_NAMES),
    "model_path",
    "served_model_name",
    "speculative_draft_model_path",
    "version",
    "attn_dp_size",
    "max_total_num_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlotFlags:
    disable_radix_cache: bool
    skip_decode_lock: bool
    enable_mamba_extra_buffer: bool
    enable_mamba_extra_buffer_lazy: bool
    disable_overlap_schedule: bool


def read_server_info(info: Mapping[str, Any]) -> ServerFacts:
    """Facts of one server.

    Raises:
        InputError: Not a server info at all: no known argument in it.
    """
    if not isinstance(info, dict) or "model_path" not in info:
        raise InputError("the answer names no `model_path`", hint="is this the server itself, and not a gateway?")
    states = _states(info)
    now = states[0] if states else {}
    memory = _mapping(now.get("memory_usage"))
    facts = ServerFacts(
        engine_version=_text(info.get("version")),
        model=_text(info.get("served_model_name")) or _text(info.get("model_path")),
        model_path=_text(info.get("model_path")),
        draft_path=_text(info.get("speculative_draft_model_path")),
        launch_command=_without_secrets(info.get("launch_command")),
        role=_text(info.get("disaggregation_mode")),
        requested_running_requests=_count(info.get("max_running_requests")),
        dp_workers=_count(info.get("attn_dp_size")) or _old_attention_workers(info),
        granted_per_worker=tuple(
            granted for state in states if (granted := _count(state.get("effective_max_running_requests_per_dp")))
        ),
        state_slots=_count(now.get("max_mamba_cache_size")),
        kv_tokens=_count(memory.get("token_capacity")) or _count(info.get("max_total_num_tokens")),
        dcp_size=_count(info.get("dcp_size")) or 1,
        kv_pool_bytes=_gib_to_bytes(memory.get("kvcache")),
        slots_per_request=_slots_per_request(info, now),
        draft_states=_draft_states(info),
        state_to_kv_ratio=_number(now.get("mamba_full_memory_ratio", info.get("mamba_full_memory_ratio"))),
        unified_memory=bool(info.get("enable_unified_memory")),
        int8_checkpoints=bool(info.get("enable_int8_mamba_checkpoint")),
        context_len=_count(info.get("context_length")),
        memory_fraction=_number(info.get("mem_fraction_static")),
        arguments=MappingProxyType({name: info[name] for name in sorted(FLAG_NAMES & info.keys())}),
    )
    limits = _limits(facts)
    return replace(facts, limits=MappingProxyType(limits), expected_per_worker=_expected(limits))


def _limits(facts: ServerFacts) -> dict[str, int]:
    """Requests of one worker by what limits them.

    Source: docs/reference/start-up.md#running-requests: the asked-for requests over the workers, at least one; half of
        the KV rows; the state slots over the slots of a request.
    """
    limits = {}
    if facts.requested_running_requests is not None:
        limits["request_cap"] = max(1, facts.requested_running_requests // facts.dp_workers)
    if facts.kv_tokens is not None:
        limits["kv"] = facts.kv_tokens // 2
    if facts.state_slots is not None and facts.slots_per_request is not None:
        limits["state"] = facts.state_slots // facts.slots_per_request
    return limits


def _expected(limits: Mapping[str, int]) -> int | None:
    """The least limit. A launch that asks for no number is capped by an estimate, which is never below 2,048."""
    if not {"kv", "state"} <= limits.keys():
        return None
    least = min(limits.values())
    return least if "request_cap" in limits or least <= LEAST_ESTIMATE else None


def trim_server_info(info: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a server info that is read here; keys and other secrets of a launch are left out of recordings."""
    kept: dict[str, Any] = {name: info[name] for name in _TOP_KEYS if name in info}
    kept["launch_command"] = _without_secrets(info.get("launch_command"))
    kept["internal_states"] = [{name: state[name] for name in _STATE_KEYS if name in state} for state in _states(info)]
    for state in kept["internal_states"]:
        environment = _mapping(state.get("env_vars"))
        state["env_vars"] = {_SKIP_LOCK: environment[_SKIP_LOCK]} if _SKIP_LOCK in environment else {}
    return kept


def _without_secrets(command: object) -> str | None:
    """A launch command with the values of secret flags blanked, by a word that a shell leaves alone."""
    return _SECRET.sub(r"\1REDACTED", command) if isinstance(command, str) else None


def read_loads(loads: Mapping[str, Any]) -> Mapping[int, Mapping[str, int]]:
    """Requests by data-parallel rank: running, queued, granted and KV tokens, from `/v1/loads`.

    This endpoint knows no state pool; it answers where metrics are switched off.

    Raises:
        InputError: Not a list of loads.
    """
    rows = loads.get("loads") if isinstance(loads, dict) else None
    if not isinstance(rows, list):
        raise InputError("the answer holds no `loads`", hint="is this the server itself, and not a gateway?")
    names = {
        "running": "num_running_reqs",
        "queued": "num_waiting_reqs",
        "granted": "max_running_requests",
        "kv_tokens": "max_total_num_tokens",
        "kv_used_tokens": "num_used_tokens",
    }
    ranks: dict[int, Mapping[str, int]] = {}
    for row in rows:
        if isinstance(row, dict):
            found = {field: value for field, name in names.items() if (value := _whole(row.get(name))) is not None}
            ranks[_whole(row.get("dp_rank")) or 0] = MappingProxyType(found)
    return MappingProxyType(ranks)


def read_accelerator(loads: Mapping[str, Any]) -> str | None:
    """Name of the card in a loads answer."""
    name = loads.get("accelerator")
    return name if isinstance(name, str) and name else None


def _old_attention_workers(info: Mapping[str, Any]) -> int:
    """Before the width had a field of its own, attention data parallelism used the general size."""
    return (_count(info.get("dp_size")) or 1) if info.get("enable_dp_attention") else 1


def _slots_per_request(info: Mapping[str, Any], now: Mapping[str, Any]) -> int | None:
    """Slots that a running request reserves; None when the strategy is unresolved or the launch is no hybrid's."""
    strategy, radix = info.get("mamba_radix_cache_strategy"), not info.get("disable_radix_cache")
    if now.get("max_mamba_cache_size") is None or (radix and strategy not in _STRATEGIES):
        return None
    environment = _mapping(now.get("env_vars"))
    buffered = strategy != "no_buffer"
    flags = _SlotFlags(
        disable_radix_cache=not radix,
        skip_decode_lock=str(environment.get(_SKIP_LOCK, "0")).lower() in {"1", "true", "yes", "y"},
        enable_mamba_extra_buffer=buffered,
        enable_mamba_extra_buffer_lazy=strategy == "extra_buffer_lazy",
        disable_overlap_schedule=bool(info.get("disable_overlap_schedule")),
    )
    try:
        return slots_per_request(flags)
    except LaunchRefusedError:
        return None


def _draft_states(info: Mapping[str, Any]) -> int:
    return (_count(info.get("speculative_num_draft_tokens")) or 0) if info.get("speculative_algorithm") else 0


def _states(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What every worker says of itself."""
    found = info.get("internal_states")
    return [state for state in found if isinstance(state, dict)] if isinstance(found, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    """A whole number above 0; a server's word is not taken for more than it is."""
    whole = _whole(value)
    return whole if whole is not None and whole > 0 else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(value) if number is not None and isinstance(value, (int, float)) else None


def _number(value: object) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _gib_to_bytes(value: object) -> int | None:
    gib = _number(value)
    return None if gib is None else int(gib * GIB)
