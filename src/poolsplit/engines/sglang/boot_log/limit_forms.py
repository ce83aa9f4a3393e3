"""The lines that say why fewer requests run than asked for, or why the server ended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import EngineError, KvReduction, RequestCap
from poolsplit.engines.sglang.boot_log.figures import INTEGER, find_integer, parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

FLOAT = r"(-?\d{1,18}(?:\.\d{1,18})?)"
EVIDENCE_CHARS = 600

_CAP = re.compile("max_running_requestsiscappedto" + INTEGER)
_CAP_SLOTS = re.compile("max_mamba_cache_size=" + INTEGER)
_CAP_PER_REQUEST = re.compile(r"(?:,|\()(\d{1,18})stateslots?per")
_REDUCED = re.compile("reducedfromtherequested" + INTEGER + "to" + INTEGER)

_NOT_ENOUGH = "NotenoughGPUmemoryforhybrid"
_TOO_SMALL = "statecacheistoosmalltoserveanyrequests"
_NO_WEIGHT_ROOM = "LoadedweightsleavenoGPUmemory"
_NO_TOKENS = "Notenoughmemory.Pleasetrytoincrease--mem-fraction-static"
_PING_PONG = re.compile("Notenoughspaceformambapingpongidx")
_NO_SLOT = re.compile("(?:Cannotallocmambacache|Notenoughspaceformambacache)")
_LEAK = re.compile(r"memoryleakdetected")
_TOO_LONG = (
    re.compile(r"Inputlength\((\d{1,18})tokens\)exceedsthemaximumallowedlength\((\d{1,18})tokens\)"),
    re.compile(r"(\d{1,18})tokens?\)?islongerthanthemodel'scontextlength\((\d{1,18})tokens\)"),
)
_TOO_LONG_TOTAL = re.compile(r"contextlengthof(\d{1,18})tokens\.Yourequestedatotalof(\d{1,18})tokens")
_PD_RAISED = re.compile(
    r"mamba_size\((\d{1,18})\)islessthandecodeside'smax_slots_needed\((\d{1,18})=(\d{1,18})reqs\*(\d{1,18})slots/req\)"
    r",raisingeffective_mamba_sizeto(\d{1,18})"
)
_CUDA_OOM = re.compile(r"(?:CUDA|HIP|XPU)outofmemory|OutOfMemoryError")

_NOT_ENOUGH_FIGURES = {
    "state_slots": re.compile("max_mamba_cache_size=" + FLOAT),
    "rest_gib": re.compile("total_rest_memory=" + FLOAT + "GB"),
    "state_mib_per_slot": re.compile("mamba_cache_per_req=" + FLOAT + "MB"),
}
_TOO_SMALL_FIGURES = {
    "state_slots": re.compile("max_mamba_cache_size=" + FLOAT),
    "slots_per_request": re.compile("mamba_ratio=" + FLOAT),
    "max_requests": re.compile("max_num_reqs=" + FLOAT),
}
_WEIGHT_FIGURES = {
    "mem_fraction_static": re.compile(r"under--mem-fraction-static=(\d{1,18}\.\d{1,18}|\d{1,18})(?=\.?(?:Raise|$))"),
    "suggested_mem_fraction_static": re.compile(r"above(\d{1,18}\.\d{1,18})\("),
    "smallest_mem_fraction_static": re.compile(r"available/pre[\w-]*=(\d{1,18}\.\d{1,18})"),
}


def request_cap(record: Record) -> Fact | None:
    """`max_running_requests is capped to A by the mamba state cache (...)`."""
    match = _CAP.search(record.squeezed)
    if not match:
        return None
    text = record.squeezed[match.end() :]
    return RequestCap(
        granted=parse_integer(match[1]),
        state_slots=find_integer(_CAP_SLOTS, text),
        slots_per_request=find_integer(_CAP_PER_REQUEST, text),
    )


def kv_reduction(record: Record) -> Fact | None:
    """`max_running_requests was reduced from the requested A to B ...`."""
    match = _REDUCED.search(record.squeezed)
    if not match:
        return None
    return KvReduction(requested=parse_integer(match[1]), granted=parse_integer(match[2]))


def refusal(record: Record) -> Fact | None:
    """A start that ends for want of memory, with its figures."""
    text = record.squeezed
    if _NOT_ENOUGH in text:
        return engine_error("not_enough_state_memory", record, _numbers(_NOT_ENOUGH_FIGURES, text))
    if _TOO_SMALL in text:
        return engine_error("too_small_for_one_request", record, _numbers(_TOO_SMALL_FIGURES, text))
    if _NO_WEIGHT_ROOM in text:
        return engine_error("weights_leave_no_memory", record, _numbers(_WEIGHT_FIGURES, text))
    if _NO_TOKENS in text:
        return engine_error("no_kv_tokens", record, {})
    if _CUDA_OOM.search(text):
        return engine_error("device_out_of_memory", record, {})
    return None


def run_time_error(record: Record) -> Fact | None:
    """An assertion or a failed check of a running server."""
    text = record.squeezed
    if _PING_PONG.search(text):
        return engine_error("ping_pong_slots_exhausted", record, {})
    if _NO_SLOT.search(text):
        return engine_error("state_slot_not_allocated", record, {})
    if _LEAK.search(text):
        return engine_error("leak_check_failed", record, _leak_figures(text))
    return _too_long(record)


def decode_pool_raised(record: Record) -> Fact | None:
    """A decode worker that enlarges its state pool past the budget."""
    match = _PD_RAISED.search(record.squeezed)
    if not match:
        return None
    names = ("state_slots", "slots_needed", "requests", "slots_per_request", "raised_state_slots")
    figures = {name: int(value) for name, value in zip(names, match.groups(), strict=True)}
    return engine_error("decode_state_pool_raised", record, figures, fatal=False)


def _too_long(record: Record) -> Fact | None:
    for pattern in _TOO_LONG:
        match = pattern.search(record.squeezed)
        if match:
            return engine_error(
                "context_too_long", record, {"tokens": int(match[1]), "allowed_tokens": int(match[2])}, fatal=False
            )
    match = _TOO_LONG_TOTAL.search(record.squeezed)
    if match:
        return engine_error(
            "context_too_long", record, {"tokens": int(match[2]), "allowed_tokens": int(match[1])}, fatal=False
        )
    return None


def engine_error(id_: str, record: Record, figures: Mapping[str, int | float], *, fatal: bool = True) -> EngineError:
    """One error with the record as its evidence."""
    return EngineError(id=id_, figures=dict(figures), text=record.text[:EVIDENCE_CHARS], fatal=fatal)


def _numbers(patterns: Mapping[str, re.Pattern[str]], text: str) -> dict[str, int | float]:
    found: dict[str, int | float] = {}
    for name, pattern in patterns.items():
        match = pattern.search(text)
        if match:
            found[name] = float(match[1]) if "." in match[1] else int(match[1])
    return found


_OLD_LEAK = {
    "kv_available": re.compile(r"full_available_size=(\d{1,18})"),
    "kv_evictable": re.compile(r"full_evictable_size=(\d{1,18})"),
    "kv_total": re.compile(r"token_to_kv_pool_allocator\.size=(\d{1,18})"),
    "kv_protected": re.compile(r"full_protected_size\(\)=(\d{1,18})"),
    "state_available": re.compile(r"mamba_available_size=(\d{1,18})"),
    "state_evictable": re.compile(r"mamba_evictable_size=(\d{1,18})"),
    "state_total": re.compile(r"mamba_pool\.size=(\d{1,18})"),
    "state_protected": re.compile(r"mamba_protected_size\(\)=(\d{1,18})"),
}
_NEW_LEAK = re.compile(r"\[(full|mamba[\w-]*|swa)\]((?:[a-z_]+=\d{1,18},?)+)")


def _leak_figures(text: str) -> dict[str, int | float]:
    figures = _numbers(_OLD_LEAK, text)
    for match in _NEW_LEAK.finditer(text):
        pool = {"full": "kv", "swa": "window"}.get(match[1], "state")
        for part in match[2].rstrip(",").split(","):
            name, _, value = part.partition("=")
            figures[f"{pool}_{name}"] = int(value)
    for pool in ("kv", "state", "window"):
        total = figures.get(f"{pool}_total")
        if total is not None and f"{pool}_available" in figures:
            held = ("available", "evictable", "protected", "session_held", "uncached")
            figures[f"{pool}_missing"] = total - sum(figures.get(f"{pool}_{name}", 0) for name in held)
    return figures
