"""Findings on the running time: which pool was full, what was reused, what was taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding
from poolsplit.engines.sglang.boot_log.finding_limits import price_of_slots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_report import BootReport, RuntimeReport

IDLE_FRACTION = 0.7
ENOUGH_PREFILLS = 20
NO_REUSE_FRACTION = 0.01


def runtime_findings(boot: BootReport) -> Iterator[Finding]:
    """What the periodic lines show."""
    if boot.runtime is None:
        return
    yield from _full_pool(boot, boot.runtime)
    yield from _retractions(boot.runtime)
    yield from _reuse(boot, boot.runtime)


def _full_pool(boot: BootReport, runtime: RuntimeReport) -> Iterator[Finding]:
    waiting = f"in {runtime.state_full_samples} of {runtime.waiting_samples} samples with a queue"
    if runtime.binding == "state" and (runtime.kv_usage_while_state_full or 0) < IDLE_FRACTION:
        idle = runtime.kv_usage_while_state_full
        use = f" while {1 - idle:.0%} of the KV pool lay idle" if idle is not None else ""
        step = boot.slots_per_request
        yield Finding(
            id="state_full_while_kv_idle",
            severity="warning",
            text=f"every state slot was in use {waiting}{use}{_by_design(boot)}",
            flags=("--max-mamba-cache-size (higher)", "--mamba-full-memory-ratio (higher)"),
            price=price_of_slots(boot, step) if step else None,
        )
    elif runtime.binding == "kv":
        yield Finding(
            id="kv_full_while_requests_wait",
            severity="warning",
            text=f"the KV pool was full in {runtime.kv_full_samples} of {runtime.waiting_samples} samples with a queue",
            flags=("--mamba-full-memory-ratio (lower)", "--kv-cache-dtype fp8_e4m3"),
        )


def _by_design(boot: BootReport) -> str:
    off = boot.launch and boot.launch.values.get("disable_radix_cache") is True
    note = "; without a prefix cache one slot a request is by design, so raise the request cap with the slots"
    return note if off else ""


def _retractions(runtime: RuntimeReport) -> Iterator[Finding]:
    if not runtime.retractions:
        return
    yield Finding(
        id="retractions",
        severity="warning",
        text=f"the KV pool ran full {runtime.retractions} times and sent {runtime.retracted_requests} running requests "
        "back to the queue; their work is done again",
        flags=("--mamba-full-memory-ratio (lower)", "--max-running-requests (lower)"),
    )


def _reuse(boot: BootReport, runtime: RuntimeReport) -> Iterator[Finding]:
    fraction = runtime.cached_token_fraction
    if fraction is None or runtime.prefill_samples < ENOUGH_PREFILLS or fraction >= NO_REUSE_FRACTION:
        return
    off = boot.launch and boot.launch.values.get("disable_radix_cache") is True
    if off:
        yield Finding(
            id="prefix_cache_off", severity="info", text="nothing is reused: the prefix cache is off in the arguments"
        )
        return
    yield Finding(
        id="no_prefix_reuse",
        severity="warning",
        text=f"{fraction:.1%} of {runtime.new_tokens + runtime.cached_tokens:,} prompt tokens came from the cache: a "
        "hybrid reuses a prefix only where a state was kept, so slots beyond the running requests decide it",
        flags=("--max-mamba-cache-size (higher)", "--mamba-radix-cache-strategy extra_buffer"),
    )
