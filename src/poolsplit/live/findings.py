"""All findings of one server, worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.live.cache_rules import CACHE_RULES
from poolsplit.live.pool_rules import POOL_RULES

if TYPE_CHECKING:
    from poolsplit.engines.boot_report import Finding
    from poolsplit.live.case import Case

RULES = (*POOL_RULES, *CACHE_RULES)
"""One small function a finding; each answers None when it does not apply."""

_ORDER = {"error": 0, "warning": 1, "info": 2}


def find(case: Case) -> tuple[Finding, ...]:
    """Findings of one server's window; the order is that of severity, then of the rules."""
    found = [finding for rule in RULES if (finding := rule(case)) is not None]
    return tuple(sorted(found, key=lambda finding: _ORDER[finding.severity]))
