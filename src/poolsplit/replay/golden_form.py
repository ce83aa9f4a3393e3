"""The JSON form of workloads and records that the golden files and `replay --batch` share."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError, TraceFormatError
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.host_pools import HostPools
from poolsplit.replay.unified import UnifiedMemory
from poolsplit.replay.workload import Request, Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from poolsplit.engines.cache_rules import CacheRules
    from poolsplit.replay.workload import Freed, Record, ReplayResult, Run

_CONFIG_NAMES = {
    "kv_tokens": "kv_tokens",
    "state_slots": "state_slots",
    "strategy": "strategy",
    "overlap": "overlap",
    "page_size": "page_tokens",
    "state_chunk": "state_chunk_tokens",
    "chunk_size": "chunk_tokens",
    "max_prefill_tokens": "max_prefill_tokens",
    "track_interval": "track_interval_tokens",
    "max_states_per_path": "max_states_per_path",
    "max_running": "max_running_requests",
    "max_context": "max_context_tokens",
    "eviction_policy": "eviction",
    "schedule_policy": "order",
    "conservativeness": "conservativeness_ratio",
    "skip_decode_lock": "skip_decode_lock",
    "waiting_refresh": "refresh_waiting",
    "mixed_chunk": "mixed_chunks",
}
"""Field of a workload's `config` and ours."""
_HOST_NAMES = {"host_tokens": "kv_tokens", "host_states": "state_slots", "write_policy": "write_policy"}
"""The same for the host tier; with none of them there is none."""
_UNIFIED_NAMES = {"slot_bytes": "slot_bytes", "token_bytes": "token_bytes"}
"""The same for unified memory."""
_NEEDED = ("kv_tokens", "state_slots")
_NO_CAP = -1
_FORM_HINT = (
    "a workload has `config` (with `kv_tokens` and `state_slots`), `mode` and `requests` with runs of token ids"
)


def read_workload(row: Mapping[str, Any], rules: CacheRules) -> tuple[ReplayConfig, Workload]:
    """One workload of the golden form.

    Raises:
        TraceFormatError: A field is missing, unknown or of another type.
        InputError: The options cannot go together.
    """
    try:
        return _read_config(row["config"], rules), _read_requests(row)
    except KeyError as error:
        raise TraceFormatError(f"a workload has no field `{error.args[0]}`", hint=_FORM_HINT) from None
    except (TypeError, ValueError):
        raise TraceFormatError("a workload has a field of another type than expected", hint=_FORM_HINT) from None


def _read_config(fields: Mapping[str, Any], rules: CacheRules) -> ReplayConfig:
    unknown = sorted(set(fields) - set(_CONFIG_NAMES) - set(_HOST_NAMES) - set(_UNIFIED_NAMES))
    if unknown:
        known = ", ".join((*_CONFIG_NAMES, *_HOST_NAMES, *_UNIFIED_NAMES))
        raise InputError(f"the workload option `{unknown[0]}` is not known", hint=f"known are {known}")
    for name in _NEEDED:
        fields[name]
    options = {_CONFIG_NAMES[name]: value for name, value in fields.items() if name in _CONFIG_NAMES}
    host = {_HOST_NAMES[name]: value for name, value in fields.items() if name in _HOST_NAMES}
    if host:
        options["host"] = HostPools(**host)
    unified = {_UNIFIED_NAMES[name]: value for name, value in fields.items() if name in _UNIFIED_NAMES}
    if unified:
        options["unified"] = UnifiedMemory(**unified)
    if options.get("max_states_per_path") == _NO_CAP:
        options["max_states_per_path"] = None
    if options.get("overlap") is None:
        options["overlap"] = options.get("strategy") != "no_buffer"
    return ReplayConfig(rules=rules, **options)


def _read_requests(row: Mapping[str, Any]) -> Workload:
    requests = tuple(
        Request(
            id=str(fields["id"]),
            prompt=_runs(fields["runs"]),
            output=_runs(fields["out_runs"]),
            stops=fields.get("stop", "length") == "eos",
            max_new=fields.get("max_new"),
            ignores_stop=bool(fields.get("ignore_eos", False)),
            arrival_step=int(fields.get("at", 0)),
        )
        for fields in row["requests"]
    )
    return Workload(requests=requests, mode=row["mode"], concurrency=row.get("concurrency"))


def _runs(pairs: Sequence[Sequence[int]]) -> tuple[Run, ...]:
    return tuple((int(start), int(count)) for start, count in pairs)


def write_result(result: ReplayResult, *, want_freed: bool) -> dict[str, Any]:
    """The records, and on demand everything freed in order, in the golden form."""
    written: dict[str, Any] = {"expect": [_write_record(record) for record in result.records]}
    if result.traffic is not None:
        written["host"] = asdict(result.traffic)
    if want_freed:
        written["freed"] = [_write_freed(freed) for freed in result.freed or ()]
    return written


def _write_record(record: Record) -> dict[str, Any]:
    head: dict[str, Any] = {"id": record.id, "prompt": record.prompt_tokens}
    if record.outcome != "done" or record.occupancy is None:
        return {**head, record.outcome: True, **_write_occupancy(record)}
    first = record.admissions[0] if record.admissions else None
    return {
        **head,
        "output": record.output_tokens,
        "matched": first.prefix if first else None,
        "branch": first.branch if first else None,
        "admissions": [
            {"step": a.step, "prefix": a.prefix, "branch": a.branch, "chunks": [list(chunk) for chunk in a.chunks]}
            for a in record.admissions
        ],
        "retractions": record.retractions,
        "aborted": record.aborted,
        "done_iter": record.done_step,
        "kv_evicted": record.kv_evicted,
        "states_evicted": record.states_evicted,
        "cap_states_evicted": record.cap_states_evicted,
        **_write_occupancy(record),
    }


def _write_occupancy(record: Record) -> dict[str, int | None]:
    if record.occupancy is None:
        return {}
    o = record.occupancy
    host = {} if o.host_kv_free is None else {"host_kv_free": o.host_kv_free, "host_state_free": o.host_state_free}
    return {
        "kv_free": o.kv_free,
        "kv_evictable": o.kv_evictable,
        "kv_protected": o.kv_protected,
        "state_free": o.state_free,
        "state_evictable": o.state_evictable,
        "state_protected": o.state_protected,
        **host,
    }


def _write_freed(freed: Freed) -> list[Any]:
    return [freed.kind, freed.depth, freed.length, freed.last_token]
