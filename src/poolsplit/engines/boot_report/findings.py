"""What is worth knowing of a start, and what a change would cost or give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a change costs or gives, in requests and tokens."""

    delta_requests: int | None
    delta_kv_tokens: int | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing, with the flag to change."""

    id: str
    severity: str
    """`error`, `warning` or `info`."""
    text: str
    evidence: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    price: Price | None = None


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as every JSON document carries it; its price stands only where a log was read."""
    return {
        "id": finding.id,
        "severity": finding.severity,
        "text": finding.text,
        "evidence": list(finding.evidence),
        "flags": list(finding.flags),
    }
