"""A log's report with all that was made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poolsplit.derivation import Step
    from poolsplit.engines.boot_report.boots import LogReport
    from poolsplit.engines.boot_report.findings import Finding
    from poolsplit.engines.boot_report.predictions import CatalogMatch, Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """A log report with what was made of its last start."""

    report: LogReport
    findings: tuple[Finding, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    predictions_reason: str | None = None
    """Why nothing was predicted."""
    matches: tuple[CatalogMatch, ...] = ()
    withheld: tuple[str, ...] = ()
    """Findings left out because the printed figures follow from no release's rules."""
    derivation: tuple[Step, ...] = ()
