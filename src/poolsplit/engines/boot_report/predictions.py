"""A start's printed figures beside what releases and known models give."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedFigure:
    """One printed figure beside what a release's rules give."""

    rank: str
    name: str
    unit: str
    predicted: float
    printed: str
    follows: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The start's figures under one release."""

    version: str
    card: str | None = None
    """The card that was taken: named by the user, or the one that explains most."""
    figures: tuple[PredictedFigure, ...] = ()
    refused: str | None = None
    """Why this release would not start, in our words."""
    refused_as_logged: bool = False
    """The log shows the same refusal."""

    @property
    def following(self) -> int:
        """How many printed figures follow."""
        return sum(figure.follows for figure in self.figures)

    @property
    def holds(self) -> bool:
        """Whether every printed figure follows, or the release refuses what the log shows refused."""
        if self.refused is not None:
            return self.refused_as_logged and self.following == len(self.figures)
        return bool(self.figures) and self.following == len(self.figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMatch:
    """A known model whose slot and row bytes fit the printed pools; many may fit, none is proved."""

    model: str
    tensor_parallel: int
    state_dtype: str
    kv_dtype: str
    state_bytes_per_slot: int
    kv_bytes_per_token: int
