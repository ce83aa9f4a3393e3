"""Free memory around the weights: given, measured by a log, or estimated from a card and its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from poolsplit.engines.free_memory import FreeMemory
from poolsplit.errors import InputError, LaunchRefusedError
from poolsplit.units import GIB, parse_size

PROCESS_OVERHEAD_GIB = 0.59
"""Context and communication buffers before the weights: 23.52 GiB of a process, 22.93 free, on a 24 GB card at TP 2.

Known error: one shipped log states both; more ranks take more.
"""
LOADING = "weights"
"""Stage of a launch that ends while its weights are loaded."""
WEIGHTS_ERROR_FRACTION = 0.016
"""Largest miss of estimated weights met on the shipped logs that state model and weights.

Qwen3.5-9B at TP 2: 8.99 GiB estimated, 8.85 measured (+1.6 %). Granite-4.0-H-Micro: 5.94 and 5.98 (-0.6 %).
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MemoryFigures:
    """Free memory and how sure it is."""

    free: FreeMemory
    origin: Literal["given", "weights", "estimate"]
    error_bytes: int
    """How far the bytes left for both pools may be off, either way."""
    source: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Card:
    """What an estimate needs of a card."""

    name: str
    memory_mib: int | None
    process_total_gib: float | None


def given_memory(before: str, after: str, stages: int) -> MemoryFigures:
    """Measured free memory: sizes with units, `after` one or one a stage.

    Raises:
        InputError: Not sizes, not one per stage, or more free after the weights than before.
    """
    before_gib = parse_size(before) / GIB
    after_gib = tuple(parse_size(part) / GIB for part in after.split(",") if part.strip())
    if len(after_gib) not in {1, stages}:
        raise InputError(
            f"{len(after_gib)} sizes are given for {stages} pipeline stages",
            where="--free-after",
            hint="one, or one each",
        )
    if max(after_gib) > before_gib:
        raise InputError(
            f"more is free after the weights ({max(after_gib):.2f} GiB) than before ({before_gib:.2f} GiB)",
            where="--free-after",
            hint="give the figures of the two weight lines of the log, in `GiB`: the engine prints GiB as `GB`",
        )
    free = FreeMemory(before_gib=before_gib, after_gib=after_gib)
    return MemoryFigures(free=free, origin="given", error_bytes=0, source="free memory around the weights, as given")


def estimated_memory(card: Card, rank_weights_bytes: float) -> MemoryFigures:
    """Free memory from a card's size and the weights.

    Args:
        card: The card.
        rank_weights_bytes: Weights of the rank that has most.

    Raises:
        LaunchRefusedError: The weights do not fit.
        InputError: The card's size is not known.

    Known error: `WEIGHTS_ERROR_FRACTION` of the weights; layers that every rank keeps whole are not told apart.
    """
    total_gib = _process_total_gib(card)
    before_gib = total_gib - PROCESS_OVERHEAD_GIB
    after_gib = before_gib - rank_weights_bytes / GIB
    if after_gib <= 0:
        raise LaunchRefusedError(
            f"{rank_weights_bytes / GIB:.2f} GiB of weights do not fit a {card.name} with {before_gib:.2f} GiB free",
            stage=LOADING,
            reason="weights_do_not_fit",
            figures={"weights_gib": rank_weights_bytes / GIB, "free_gib": before_gib},
            hint="use more ranks (`--tp-size`, `--pp-size`), a larger card, or smaller weights",
        )
    source = (
        f"{card.name}: {total_gib:.2f} GiB of a process less {PROCESS_OVERHEAD_GIB} GiB of context, "
        f"less {rank_weights_bytes / GIB:.2f} GiB of weights"
    )
    return MemoryFigures(
        free=FreeMemory(before_gib=before_gib, after_gib=(after_gib,)),
        origin="estimate",
        error_bytes=int(rank_weights_bytes * WEIGHTS_ERROR_FRACTION),
        source=source,
        warnings=(
            "the bytes left for both pools are an estimate; a boot log or --free-before and --free-after is exact",
        ),
    )


def _process_total_gib(card: Card) -> float:
    if card.process_total_gib is not None:
        return card.process_total_gib
    if card.memory_mib is None:
        raise InputError(
            f"the size of the card {card.name} is not known",
            hint="give --gpu-memory, or --free-before and --free-after",
        )
    return card.memory_mib / 1024
