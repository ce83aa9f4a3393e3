"""What is embedded: models, cards, answered questions and the engine whose rules answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from poolsplit.data import Gpu
    from poolsplit.shapes.card import ModelCard
    from poolsplit.topics import Topic


def models() -> tuple[ModelCard, ...]:
    """Every embedded model."""
    from poolsplit.shapes import catalog

    return tuple(model(name) for name in catalog.ids())


def model(name: str) -> ModelCard:
    """One model by embedded id, path or hub id.

    Raises:
        InputError: No such model; the hint names near ones.
        UnsupportedModelError: Its config is not understood.
    """
    from poolsplit.hub import find_model
    from poolsplit.shapes.card import card_of

    found = find_model(name)
    return card_of(
        found.shape, origin=found.origin, weights_bytes=found.weights_bytes, weights_source=found.weights_source
    )


def gpus() -> tuple[Gpu, ...]:
    """Every embedded card."""
    from poolsplit.data import gpus as embedded

    return embedded()


@overload
def explain() -> tuple[Topic, ...]: ...
@overload
def explain(topic: str) -> Topic: ...
def explain(topic: str | None = None) -> Topic | tuple[Topic, ...]:
    """One answered question, or all of them.

    Raises:
        InputError: No such question; the hint names the near one or all.
    """
    from poolsplit import topics

    return topics.topics() if topic is None else topics.topic(topic)


def engine(version: str | None = None) -> dict[str, str]:
    """The engine whose rules answer, as every document names it."""
    from poolsplit.engines.sglang.versions import DEFAULT_VERSION

    return {"name": "sglang", "version": DEFAULT_VERSION if version is None else version}


def form_choices() -> dict[str, Any]:
    """What a form offers: releases, card generations, strategies and samples."""
    from poolsplit.answers.form_choices import form_choices as choices

    return choices()
