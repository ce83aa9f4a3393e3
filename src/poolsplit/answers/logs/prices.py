"""What the flags of a finding would change, solved again under the release that explains the log."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.logs.predict import deployment_under
from poolsplit.engines.boot_report import Price
from poolsplit.errors import PoolsplitError

if TYPE_CHECKING:
    from poolsplit.answers.logs.launches import LoggedLaunch
    from poolsplit.engines.boot_report import BootReport, Finding, Prediction
    from poolsplit.engines.sglang.deployment import SglangDeployment

_FLAG = re.compile(r"--([a-z0-9-]+) ([\w.]+)")
_PRICED = ("max_mamba_cache_size", "max_running_requests", "context_length", "mamba_ssm_dtype", "kv_cache_dtype")


def price_findings(
    boot: BootReport, launch: LoggedLaunch, prediction: Prediction, findings: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Findings with the price of their first flag, where it names a value; others as they are."""
    if not any(rank.rest_bytes for rank in boot.pool_ranks):
        return findings
    deployment = deployment_under(boot, launch, prediction)
    return tuple(_priced(finding, deployment) for finding in findings)


def _priced(finding: Finding, deployment: SglangDeployment) -> Finding:
    changes = _changes(finding.flags[0]) if finding.flags else None
    if changes is None:
        return finding
    try:
        now = deployment.solve({}).pools
    except PoolsplitError:
        return finding
    try:
        then = deployment.solve(changes).pools
    except PoolsplitError as refused:
        text = f"{finding.text}; with `{finding.flags[0]}` it would not start: {refused}"
        return replace(finding, text=text, flags=finding.flags[1:], price=None)
    price = Price(
        delta_requests=then.max_running_requests - now.max_running_requests,
        delta_kv_tokens=then.logical_tokens - now.logical_tokens,
        source=f"solved again with the rules of {deployment.switches.version}",
    )
    return replace(finding, price=price)


def _changes(flag: str) -> dict[str, Any] | None:
    match = _FLAG.fullmatch(flag)
    if match is None:
        return None
    name, value = match[1].replace("-", "_"), match[2]
    return {name: int(value) if value.isdecimal() else value} if name in _PRICED else None
