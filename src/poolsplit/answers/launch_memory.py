"""The free memory around the weights of one launch: as it is given, or estimated from the card and the weights."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.budget.memory import MemoryFigures, estimated_memory, given_memory
from poolsplit.engines.sglang.flag_sense import PARTITION
from poolsplit.engines.sglang.shards import stage_ranges
from poolsplit.errors import InputError, LaunchRefusedError, UsageError
from poolsplit.units import format_size, parse_size

if TYPE_CHECKING:
    from poolsplit.answers.opened_launch import LaunchRequest, OpenedLaunch
    from poolsplit.engines.device import Device

MEASURED_STEPS = frozenset({"free_before", "free_after"})
"""Steps of a derivation whose figures come from outside the launch."""
LEAST_WEIGHTS_FRACTION = 0.2
"""Of a checkpoint in two bytes, what weights in four bits with their scales and whole embeddings take at least."""


def find_memory(request: LaunchRequest, opened: OpenedLaunch) -> MemoryFigures:
    """Free memory around the weights, given or estimated.

    Raises:
        InputError: One of two sizes is missing, or the weights are not known.
        LaunchRefusedError: The weights do not fit the card.
    """
    if (request.free_before is None) != (request.free_after is None):
        raise UsageError("one of --free-before and --free-after is missing", hint="give both, or neither")
    stages = opened.flags.pp_size
    if request.free_before is not None and request.free_after is not None:
        if request.weights is not None:
            raise UsageError(
                "weights and measured free memory are both given", hint="drop --weights: the measurement holds them"
            )
        figures = given_memory(request.free_before, request.free_after, stages)
        _check_card_holds(figures.free.before_gib, opened.device)
        return figures
    tp_size = max(1, opened.flags.tp_size)
    if request.weights is not None:
        given = parse_size(request.weights)
        figures = estimated_memory(opened.card, given)
        return replace(figures, warnings=(*figures.warnings, *_light_weights(given, opened, tp_size * max(1, stages))))
    if opened.model.weights_bytes is None:
        raise InputError(
            f"the weights of {opened.shape.name} are not known: {opened.model.weights_source or 'no source tells'}",
            hint="give --weights SIZE (one rank's), or --free-before and --free-after from a log's weight lines",
        )
    return estimated_memory(opened.card, opened.model.weights_bytes / tp_size * _largest_stage(opened))


def _largest_stage(opened: OpenedLaunch) -> float:
    """Share of the layers on the longest pipeline stage: every rank of a start sees the least free memory of any.

    An equal share where the asked-for cut does not add up: the solver says so.
    """
    layers, stages = opened.shape.layers, max(1, opened.flags.pp_size)
    cut = opened.flags.env.get(PARTITION, "") if stages > 1 else ""
    try:
        ranges = stage_ranges(layers, stages, tuple(int(part) for part in cut.split(",")) if cut else None)
    except LaunchRefusedError:
        return 1 / stages
    return max(stage.end - stage.start for stage in ranges) / layers


def _light_weights(given_bytes: int, opened: OpenedLaunch, ranks: int) -> tuple[str, ...]:
    """A warning where a rank's weights are given as less than any quantisation leaves of the checkpoint's."""
    share_bytes = (opened.model.weights_bytes or 0) / ranks
    if given_bytes >= share_bytes * LEAST_WEIGHTS_FRACTION:
        return ()
    text = (
        f"`--weights` of {format_size(given_bytes)} is far below the {format_size(int(share_bytes))} that a rank of "
        f"{opened.shape.name} loads on {ranks} ranks: the bytes left for both pools come out too large"
    )
    return (text,)


def _check_card_holds(before_gib: float, device: Device) -> None:
    total_gib = device.memory_mib / 1024 if device.memory_mib else None
    if total_gib is not None and before_gib > total_gib:
        raise InputError(
            f"{before_gib:.2f} GiB cannot be free on a card of {total_gib:.2f} GiB",
            where="--free-before",
            hint="give one card's figure, in `GiB`: the engine prints GiB as `GB`",
        )
