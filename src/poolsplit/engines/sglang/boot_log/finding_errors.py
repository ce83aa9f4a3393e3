"""Findings on refusals, assertions and failed checks: what they mean, and which lever is the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding
from poolsplit.engines.sglang.boot_log import finding_crashes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from poolsplit.engines.boot_facts import EngineError
    from poolsplit.engines.boot_report import BootReport


_Explained = tuple[str, tuple[str, ...]]
"""What it means, and the flags to change."""


def error_findings(boot: BootReport) -> Iterator[Finding]:
    """One finding for each kind of error, with the figures of its first line and how often it came."""
    seen: dict[str, list[EngineError]] = {}
    for error in boot.errors:
        seen.setdefault(error.id, []).append(error)
    for id_, errors in seen.items():
        text, flags = _explained(errors[0], boot)
        times = f" ({len(errors)} times)" if len(errors) > 1 else ""
        severity = "error" if errors[0].fatal else "warning"
        yield Finding(id=id_, severity=severity, text=text + times, evidence=(errors[0].text,), flags=flags)


def _explained(error: EngineError, boot: BootReport) -> _Explained:
    if error.id == "process_exception":
        return finding_crashes.exception_text(error)
    return _EXPLAIN[error.id](error.figures, boot)


def _not_enough(figures: Mapping[str, int | float], boot: BootReport) -> _Explained:
    rest, slot, slots = (figures.get(name) for name in ("rest_gib", "state_mib_per_slot", "state_slots"))
    if rest is not None and rest <= 0:
        text = (
            f"the state pool gets no slot (computed {slots}) because the memory to share is {rest} GiB: weights and "
            "slack already exceed the static fraction. Fewer requests, the first hint of the message, do not help"
        )
        return text, (_fraction_flag(boot, -rest),)
    budget = f" of {slot} MiB" if slot is not None else ""
    text = f"the state's share of {rest} GiB does not hold one slot{budget} beside the padding slot"
    flags = ("--mem-fraction-static (higher)", "--mamba-full-memory-ratio (higher)")
    if _speculates(boot):
        return f"{text}; draft states are charged before it", (*flags, "--speculative-num-draft-tokens (lower)")
    return f"{text}; fewer requests do not help, since one slot is needed all the same", flags


def _too_small(figures: Mapping[str, int | float], _: BootReport) -> _Explained:
    slots, per_request = figures.get("state_slots"), figures.get("slots_per_request")
    if slots is not None and per_request is not None and slots >= per_request:
        text = (
            f"{slots} slots would carry a request of {per_request}; the KV pool is below two tokens, so the message "
            "blames the wrong pool"
        )
        return text, ("--mamba-full-memory-ratio (lower)", "--mem-fraction-static (higher)")
    flags = (f"--max-mamba-cache-size {per_request}",) if per_request is not None else ()
    text = f"{slots} state slots, but one request reserves {per_request}: no request can run"
    return text, (*flags, "--mamba-full-memory-ratio (higher)", "--mem-fraction-static (higher)")


def _weights(figures: Mapping[str, int | float], boot: BootReport) -> _Explained:
    now, needed = figures.get("mem_fraction_static"), figures.get("smallest_mem_fraction_static")
    if now is None or needed is None:
        return "weights leave nothing for the pools under the static fraction", (_fraction_flag(boot, None),)
    if needed <= now:
        text = (
            f"the static fraction {now} leaves room for the weights (they need {needed}); the state pool took the "
            "rest, so the message's advice is below the present value"
        )
        return text, ("--max-mamba-cache-size (lower)", "--mem-fraction-static (higher)")
    return (
        f"weights leave nothing for the pools under the static fraction {now}: the weights alone need {needed}",
        (f"--mem-fraction-static (above {needed})",),
    )


def _no_tokens(_: Mapping[str, int | float], __: BootReport) -> _Explained:
    text = "after the state pool nothing is left for a single KV token"
    return text, ("--mem-fraction-static (higher)", "--mamba-full-memory-ratio (lower)")


def _device_memory(_: Mapping[str, int | float], boot: BootReport) -> _Explained:
    when = "after the pools were built" if boot.pool_ranks else "before the pools were built"
    text = (
        f"the device ran out of memory {when}: buffers outside the two pools (graphs, activations, draft rings) took "
        "more than the slack leaves"
    )
    return text, ("--mem-fraction-static (lower)",)


def _ping_pong(_: Mapping[str, int | float], __: BootReport) -> _Explained:
    text = (
        "an admission bug of some builds, not a sizing fault: the tracking slot of an admitted request was not there. "
        "More slots only make it rarer; move to a release that drops the matched state's lock first (0.5.23 does)"
    )
    return text, ()


def _no_slot(_: Mapping[str, int | float], __: BootReport) -> _Explained:
    text = (
        "a state slot that admission had promised was not there: an engine bug of some builds, not a sizing fault; "
        "more slots only make it rarer"
    )
    return text, ()


def _leak(figures: Mapping[str, int | float], _: BootReport) -> _Explained:
    nouns = {"state_missing": "state slots", "kv_missing": "KV tokens", "window_missing": "window rows"}
    parts = [f"{figures[name]} {noun} missing" for name, noun in nouns.items() if figures.get(name)]
    counted = ", ".join(parts) if parts else "its figures balance as far as they are printed"
    return f"the engine's own accounting failed ({counted}): an engine bug, not a sizing fault; update", ()


def _context(figures: Mapping[str, int | float], _: BootReport) -> _Explained:
    text = (
        f"a request of {figures.get('tokens')} tokens was refused, {figures.get('allowed_tokens')} are allowed: the "
        "limit of one request, its context length or the KV pool, whichever is smaller"
    )
    return text, ("--context-length", "--allow-auto-truncate")


def _raised(figures: Mapping[str, int | float], _: BootReport) -> _Explained:
    text = (
        f"the decode worker enlarges its state pool from {figures['state_slots']} to "
        f"{figures['raised_state_slots']} slots ({figures['requests']} requests x {figures['slots_per_request']}); "
        "the memory was not budgeted"
    )
    return text, (f"--max-mamba-cache-size {figures['raised_state_slots']}",)


_EXPLAIN: dict[str, Callable[[Mapping[str, int | float], BootReport], _Explained]] = {
    "not_enough_state_memory": _not_enough,
    "too_small_for_one_request": _too_small,
    "weights_leave_no_memory": _weights,
    "no_kv_tokens": _no_tokens,
    "device_out_of_memory": _device_memory,
    "ping_pong_slots_exhausted": _ping_pong,
    "state_slot_not_allocated": _no_slot,
    "leak_check_failed": _leak,
    "context_too_long": _context,
    "decode_state_pool_raised": _raised,
    "watchdog_timeout": lambda figures, _: finding_crashes.watchdog_text(figures),
    "collective_timeout": lambda figures, _: finding_crashes.collective_text(figures),
    "process_died": lambda figures, _: finding_crashes.death_text(figures),
    "ended_without_reason": lambda _, __: finding_crashes.silent_text(),
}


def _fraction_flag(boot: BootReport, missing_gib: float | None) -> str:
    """The fraction to set, where free memory and the present fraction are known."""
    before = next((rank.load_begin for rank in boot.ranks.values() if rank.load_begin), None)
    now = boot.launch.values.get("mem_fraction_static") if boot.launch else None
    if before is None or missing_gib is None or not isinstance(now, (int, float)) or before.value <= 0:
        return "--mem-fraction-static (higher)"
    return f"--mem-fraction-static (above {now + missing_gib / before.value:.3f})"


def _speculates(boot: BootReport) -> bool:
    return bool(boot.launch and boot.launch.values.get("speculative_algorithm"))
