"""Findings on where the memory went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import Finding
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_report import BootReport, RankReport

WORTH_SAYING_BYTES = GIB // 2
FRACTION_SLACK = 0.002
"""Free memory before the weights is printed at a slightly other moment than the engine measures it."""


def memory_findings(boot: BootReport) -> Iterator[Finding]:
    """Scratch, unnamed memory, the static fraction, host pools and other layouts."""
    if boot.kind not in ("hybrid", "elastic"):
        return
    for rank in boot.pool_ranks[:1]:
        yield from _scratch(rank)
        yield from _unexplained(rank)
        yield from _fraction(boot, rank)
    for rank in boot.ranks.values():
        yield from _host(boot, rank)
    yield from _layouts(boot)


def _scratch(rank: RankReport) -> Iterator[Finding]:
    scratch, state = rank.scratch_bytes, rank.state_bytes
    if scratch is None or state is None or scratch.middle < WORTH_SAYING_BYTES or scratch.middle < state.middle / 3:
        return
    states = f", {rank.scratch_states.middle:.0f} states" if rank.scratch_states else ""
    yield Finding(
        id="verify_scratch",
        severity="warning" if scratch.middle > state.middle else "info",
        text=f"speculation keeps {scratch.middle / GIB:.2f} GiB of verify scratch{states} beside "
        f"{state.middle / GIB:.2f} GiB of slots: (requests + 1) x draft tokens states",
        flags=(
            "--max-running-requests (lower)",
            "--speculative-num-draft-tokens (lower)",
            "--enable-linear-replayssm-spec",
        ),
    )


def _unexplained(rank: RankReport) -> Iterator[Finding]:
    unnamed = rank.unexplained_bytes
    if unnamed is None or unnamed.low < WORTH_SAYING_BYTES:
        return
    yield Finding(
        id="unexplained_memory",
        severity="info",
        text=f"{unnamed.middle / GIB:.2f} GiB went between the weights and the end of the pools and no line names it",
        evidence=(f"rank {rank.label}",),
    )


def _fraction(boot: BootReport, rank: RankReport) -> Iterator[Finding]:
    implied = rank.implied_static_fraction
    stated = boot.launch.values.get("mem_fraction_static") if boot.launch else None
    if implied is None or not isinstance(stated, (int, float)) or rank.image_reserve is not None:
        return
    if implied.low - FRACTION_SLACK <= stated <= implied.high + FRACTION_SLACK:
        return
    yield Finding(
        id="static_fraction_differs",
        severity="warning",
        text=f"the pools follow from a static fraction of {implied.middle:.3f}, not from the stated {stated}: the log "
        "is of another command, or memory was taken beside it",
    )


def _host(boot: BootReport, rank: RankReport) -> Iterator[Finding]:
    host = rank.host_state
    if host is None or host.size is None:
        return
    pools = [other for other in boot.pool_ranks if other.state_bytes_per_slot]
    slots = host.slots
    about = ""
    if slots is None and pools and pools[0].state_bytes_per_slot:
        slots = int(host.size.low_bytes / pools[0].state_bytes_per_slot.high)
        about = "about "
    if slots is None:
        return
    tokens = f" beside {rank.host_kv.tokens:,} KV tokens" if rank.host_kv and rank.host_kv.tokens else ""
    yield Finding(
        id="host_states",
        severity="info",
        text=f"the host tier keeps {about}{slots:,} states{tokens}; a prefix without its state cannot be resumed, and "
        "no flag sizes host states alone",
        flags=("--mamba-full-memory-ratio", "--hicache-ratio"),
    )


def _layouts(boot: BootReport) -> Iterator[Finding]:
    if boot.elastic is not None:
        pool = boot.elastic
        raw, padded = pool.raw_bytes_per_layer_slot, pool.padded_bytes_per_layer_slot
        factor = f"; each layer's slot is padded by a factor of {padded / raw:.2f}" if raw and padded else ""
        yield Finding(
            id="elastic_state_pool",
            severity="info",
            text=f"the state pool is mapped on demand by kvcached, so its slots are not set at the start{factor}",
        )
    if boot.unified is not None:
        yield Finding(
            id="unified_memory",
            severity="info",
            text="one buffer serves both pools: the ratio sets the buffer and the request cap, not the split while "
            "running, and usage percentages do not compare with those of two pools",
        )
