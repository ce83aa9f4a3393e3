"""Ranked findings of one start: errors, then warnings, then notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.boot_log.finding_errors import error_findings
from poolsplit.engines.sglang.boot_log.finding_limits import limit_findings
from poolsplit.engines.sglang.boot_log.finding_memory import memory_findings
from poolsplit.engines.sglang.boot_log.finding_runtime import runtime_findings

if TYPE_CHECKING:
    from poolsplit.engines.boot_report import BootReport, Finding

_RANKS = {"error": 0, "warning": 1, "info": 2}


def findings_of(boot: BootReport) -> tuple[Finding, ...]:
    """What is worth knowing about a start; nothing for another engine's log."""
    if boot.kind == "other_engine" or boot.engine is None:
        return ()
    rules = (error_findings, limit_findings, runtime_findings, memory_findings)
    found = [finding for rule in rules for finding in rule(boot)]
    return tuple(sorted(found, key=lambda finding: _RANKS[finding.severity]))
