"""What differs between two starts of a server, and what each difference changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field that differs, and its effect when it alone is changed in the first of the two."""

    field: str
    a: Any
    b: Any
    effect_requests: int | None
    effect_tokens: int | None
    reason: str = ""
    """Why the effect is not known, or what stands behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one side grants: as its log prints it, else as it resolves."""

    state_slots: int | None = None
    kv_tokens: int | None = None
    requests: int | None = None
    slots_per_request: int | None = None
    binding: str | None = None
    origin: str = ""
    """log, resolved, plan, or why nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two starts compared."""

    kinds: tuple[str, str]
    """log, launch or plan, for each side."""
    a: Outcome
    b: Outcome
    changes: tuple[Change, ...]
    explains_requests: str | None = None
    """The field whose change alone does most of the difference in requests."""
    explains_tokens: str | None = None
    engine: Mapping[str, str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return bool(self.changes) or (self.a.requests, self.a.kv_tokens) != (self.b.requests, self.b.kv_tokens)
