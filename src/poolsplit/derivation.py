"""One step of how a number was found; every answer carries its steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One named figure on the way to an answer."""

    name: str
    value: int | float | str | None
    unit: str
    source: str
    """The rule it comes from, or where it was read."""


def step_documents(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Steps as every JSON document carries them."""
    return [asdict(step) for step in steps]
