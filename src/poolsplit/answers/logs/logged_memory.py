"""The free memory behind a log: as printed, as a refusal names it, or as the sum of the printed pools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.free_memory import FreeMemory
from poolsplit.errors import LaunchRefusedError
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.boot_facts import PrintedSize
    from poolsplit.engines.boot_report import BootReport
    from poolsplit.engines.sglang.deployment import SglangDeployment
    from poolsplit.engines.sglang.resolved import ResolvedFlags

BEFORE_GIB = 128.0
"""Any figure: where the rest is known, only its difference to the free memory after the weights counts."""
FITTING_PLAY_GIB = 0.1
FITTING_STEPS = 60
"""Halvings until two floats are neighbours."""
_STAGE = re.compile(r"\bPP(\d+)\b")


def printed_memory(boot: BootReport, resolved: ResolvedFlags) -> tuple[FreeMemory, FreeMemory] | None:
    """The least and the most memory that print so."""
    befores = [rank.load_begin for rank in boot.ranks.values() if rank.load_begin]
    stages: dict[int, list[PrintedSize]] = {}
    for rank in boot.ranks.values():
        if rank.after_weights is not None:
            stages.setdefault(stage_of(rank.label), []).append(rank.after_weights)
    if not befores or not stages:
        return memory_of_refusal(boot, resolved)
    afters = [min(sizes, key=lambda size: size.value) for _, sizes in sorted(stages.items())]
    if len(afters) not in (1, resolved.pp_size):
        afters = [min(afters, key=lambda size: size.value)]
    before = min(befores, key=lambda size: size.value)
    half, half_after = before.step / 2, afters[0].step / 2
    low = FreeMemory(before_gib=before.value + half, after_gib=tuple(size.value - half_after for size in afters))
    high = FreeMemory(before_gib=before.value - half, after_gib=tuple(size.value + half_after for size in afters))
    return low, high


def memory_of_refusal(boot: BootReport, resolved: ResolvedFlags) -> tuple[FreeMemory, FreeMemory] | None:
    """The memory that a refusal names as what both pools share, where verification takes nothing of it before."""
    rest = next((error.figures["rest_gib"] for error in boot.errors if "rest_gib" in error.figures), None)
    if rest is None or resolved.speculative_num_draft_tokens:
        return None
    low, high = (memory_of_rest(rest + play, resolved) for play in (-0.005, 0.005))
    return low, high


def memory_of_pools(boot: BootReport, resolved: ResolvedFlags) -> tuple[FreeMemory, FreeMemory] | None:
    """The sum of the printed pools; not with scratch, which is allocated otherwise than reserved."""
    rests = [rank.rest_bytes for rank in boot.pool_ranks if rank.rest_bytes and not rank.scratch_bytes]
    if not rests or resolved.pp_size > 1:
        return None
    low, high = (memory_of_rest(rest_bytes / GIB, resolved) for rest_bytes in (rests[0].low, rests[0].high))
    return low, high


def memory_of_rest(rest_gib: float, resolved: ResolvedFlags) -> FreeMemory:
    """Free memory that leaves this much for both pools."""
    kept_back = BEFORE_GIB * (1 - resolved.mem_fraction_static) + resolved.mm_reservation_gib
    return FreeMemory(before_gib=BEFORE_GIB, after_gib=(rest_gib + kept_back,))


def fitted(
    boot: BootReport,
    resolved: ResolvedFlags,
    bounds: tuple[FreeMemory, FreeMemory],
    deploy: Callable[[FreeMemory], SglangDeployment],
) -> FreeMemory:
    """The memory inside its bounds under which the solver gives the printed tokens; the middle where none does."""
    low, high = (_rest_gib(memory, resolved) for memory in bounds)
    printed = min((rank.kv_tokens for rank in boot.pool_ranks if rank.kv_tokens is not None), default=None)
    middle = memory_of_rest((low + high) / 2, resolved)
    if printed is None:
        return middle
    low, high = low - FITTING_PLAY_GIB, high + FITTING_PLAY_GIB
    for _ in range(FITTING_STEPS):
        memory = memory_of_rest((low + high) / 2, resolved)
        try:
            tokens = deploy(memory).solve({}).pools.kv_tokens
        except LaunchRefusedError:
            tokens = -1
        if tokens == printed:
            return memory
        low, high = ((low + high) / 2, high) if tokens < printed else (low, (low + high) / 2)
    return middle


def _rest_gib(memory: FreeMemory, resolved: ResolvedFlags) -> float:
    """What both pools share under this memory."""
    return min(memory.after_gib) - memory.before_gib * (1 - resolved.mem_fraction_static) - resolved.mm_reservation_gib


def stage_of(label: str) -> int:
    """The pipeline stage that a rank's label names; 0 where it names none."""
    match = _STAGE.search(label)
    return int(match[1]) if match else 0
