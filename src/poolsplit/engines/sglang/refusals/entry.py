"""The form of one refusal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One refusal: a message with places for its figures and words, and the flag to move."""

    message: str
    hint: str


def refusal(message: str, hint: str) -> Refusal:
    """A refusal from its two texts, for the tables of this package."""
    return Refusal(message=message, hint=hint)
