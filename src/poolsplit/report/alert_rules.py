"""Recording and alert rules of a monitoring server, for one plan, as YAML."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.engines.recorded_series import RecordedSeries

IDLE_FRACTION = 0.5
NEARLY_FULL_FRACTION = 0.95
STORM_FRACTION = 0.10
SIZE_ERROR = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFigures:
    """What a plan predicts of a server; None where it does not."""

    model: str
    state_slots: int | None
    kv_rows: int | None
    """Rows of one rank, as a server exports them."""
    slots_per_request: int | None
    granted_requests: int | None
    running_requests: int | None
    request_tokens: float | None
    cached_fraction: float | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """One alert."""

    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


def alert_rules(planned: PlannedFigures) -> tuple[AlertRule, ...]:
    """The alerts that make sense for this plan: those on figures that it predicts, and those on the pools."""
    return (*_pool_alerts(planned), *_plan_alerts(planned))


def _pool_alerts(planned: PlannedFigures) -> tuple[AlertRule, ...]:
    slots_left = 1 - NEARLY_FULL_FRACTION
    if planned.slots_per_request and planned.state_slots:
        slots_left = round(max(slots_left, planned.slots_per_request / planned.state_slots), 4)
    waits = "poolsplit:queued_requests > 0"
    return (
        AlertRule(
            name="StateBoundKvIdle",
            expression=f"{waits} and poolsplit:state_reclaimable_fraction <= {slots_left:g} "
            f"and poolsplit:kv_used_fraction < {IDLE_FRACTION}",
            lasting="10m",
            severity="warning",
            summary="requests wait for state slots while no running one holds most KV rows: plan a higher state share",
        ),
        AlertRule(
            name="KvBoundStateIdle",
            expression=f"{waits} and poolsplit:kv_used_fraction > {NEARLY_FULL_FRACTION} "
            f"and poolsplit:state_used_fraction < {IDLE_FRACTION}",
            lasting="10m",
            severity="warning",
            summary="requests wait for KV rows while no running one holds most slots: plan a lower state share",
        ),
        AlertRule(
            name="RetractionStorm",
            expression=f"poolsplit:retracted_requests > {STORM_FRACTION} * poolsplit:finished_requests",
            lasting="5m",
            severity="warning",
            summary="running requests are thrown back: the KV pool is too small for what is admitted",
        ),
        AlertRule(
            name="HostStatesFew",
            expression=f"poolsplit:host_states_fraction >= {NEARLY_FULL_FRACTION} "
            f"and poolsplit:host_tokens_fraction < {IDLE_FRACTION}",
            lasting="15m",
            severity="warning",
            summary="the host keeps no more states although its KV rows are mostly empty: those rows cannot be used",
        ),
        AlertRule(
            name="MetricsAbsent",
            expression="absent(poolsplit:running_requests)",
            lasting="5m",
            severity="warning",
            summary="no server exports its pools: are metrics switched on?",
        ),
    )


def _plan_alerts(planned: PlannedFigures) -> tuple[AlertRule, ...]:
    found = [
        _size_alert("StateSlotsDiffer", "poolsplit:state_capacity", planned.state_slots, "state slots"),
        _size_alert("KvTokensDiffer", "poolsplit:kv_tokens", planned.kv_rows, "KV rows"),
    ]
    if planned.request_tokens:
        low, high = planned.request_tokens / 2, planned.request_tokens * 2
        found.append(
            AlertRule(
                name="TrafficDiffers",
                expression=f"poolsplit:mean_request_tokens < {low:g} or poolsplit:mean_request_tokens > {high:g}",
                lasting="30m",
                severity="info",
                summary=f"requests are not about {planned.request_tokens:g} tokens long, as planned: plan again",
            )
        )
    if planned.cached_fraction:
        found.append(
            AlertRule(
                name="ReuseLost",
                expression=f"poolsplit:cached_fraction < {planned.cached_fraction / 2:g}",
                lasting="15m",
                severity="warning",
                summary=f"less than half of the planned reuse of {planned.cached_fraction:g}: prefixes are lost",
            )
        )
    if planned.running_requests:
        found.append(
            AlertRule(
                name="FewerRunThanPlanned",
                expression=f"poolsplit:queued_requests > 0 and poolsplit:running_requests < "
                f"{0.85 * planned.running_requests:g}",
                lasting="15m",
                severity="warning",
                summary=f"requests wait although fewer than the planned {planned.running_requests} run",
            )
        )
    return tuple(rule for rule in found if rule is not None)


def _size_alert(name: str, series: str, planned: int | None, what: str) -> AlertRule | None:
    if planned is None:
        return None
    return AlertRule(
        name=name,
        expression=f"abs({series} - {planned}) > {SIZE_ERROR * planned:g}",
        lasting="5m",
        severity="warning",
        summary=f"the server has not the planned {planned} {what}: was it started with the planned flags?",
    )


def rules_yaml(series: Sequence[RecordedSeries], planned: PlannedFigures) -> str:
    """Both groups of rules; strings are quoted as JSON, which YAML reads as it is."""
    lines = ["# Written by `poolsplit dashboard`.", "groups:", "  - name: poolsplit-recording", "    rules:"]
    for one in series:
        lines += [f"      - record: {one.name}", f"        expr: {json.dumps(one.expression)}"]
    lines += ["  - name: poolsplit-alerts", "    rules:"]
    for rule in alert_rules(planned):
        lines += [
            f"      - alert: Poolsplit{rule.name}",
            f"        expr: {json.dumps(rule.expression)}",
            f"        for: {rule.lasting}",
            "        labels:",
            f"          severity: {rule.severity}",
            "        annotations:",
            f"          summary: {json.dumps(rule.summary)}",
        ]
    return "\n".join(lines) + "\n"
