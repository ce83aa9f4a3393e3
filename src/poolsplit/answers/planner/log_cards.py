"""The card behind a log that names none: those that its figures may come from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.budget.memory import WEIGHTS_ERROR_FRACTION
from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.answers.planner.measured_log import ReadLog
    from poolsplit.engines.device import Device

_LARGEST_OVERHEAD = 1.1
"""A card's size over what is free before the weights: context and communication take a part."""


def possible_cards(request: LaunchRequest, log: ReadLog) -> Iterator[LaunchRequest]:
    """The request with its card, or with each card that the log's figures may come from, verified ones first."""
    if request.gpu is not None or request.gpu_arch is not None:
        yield request
        return
    from poolsplit.data import gpus

    before, held = log.rank.load_begin.value if log.rank.load_begin else None, _held_gib(log)
    cards = [card for card in gpus() if card.compute_capability is not None]
    for card in sorted(cards, key=lambda each: not each.verified):
        total_gib = card.memory_mib / 1024
        if held <= total_gib and (before is None or before <= total_gib <= before * _LARGEST_OVERHEAD):
            yield replace(request, gpu=card.id)


def _held_gib(log: ReadLog) -> float:
    """What one card holds at least: its pools and its share of the weights, as far as both are known."""
    from poolsplit.shapes import catalog

    entry = catalog.find(str(log.launch.values.get("model_path")))
    ranks = max(1, int(log.launch.values.get("tp_size") or 1)) * max(1, int(log.launch.values.get("pp_size") or 1))
    as_published = entry if not log.launch.values.get("quantization") else None
    weights_bytes = (as_published.weights_bytes or 0) / ranks if as_published else 0.0
    pools_bytes = log.rank.rest_bytes.low if log.rank.rest_bytes else 0.0
    return (weights_bytes * (1 - WEIGHTS_ERROR_FRACTION) + pools_bytes) / GIB


def assumed_card(request: LaunchRequest, fitting: Sequence[Device]) -> tuple[str, ...]:
    """Which card stands in where none is named, and which others the log fits as well."""
    if request.gpu is not None or request.gpu_arch is not None:
        return ()
    first, *others = fitting
    also = [card.name for card in others if card.verified or not first.verified]
    beside = f"; it fits {', '.join(also)} as well, so name yours with --gpu" if also else ""
    return (f"no card is named: the log fits a card of {first.name}, which is assumed{beside}",)
