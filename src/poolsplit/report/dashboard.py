"""A Grafana dashboard over the recorded series, with the plan's figures as lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.report.alert_rules import PlannedFigures

SCHEMA_VERSION = 39
"""Of the dashboard format; newer servers read older schemas."""
_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 24
_FILTER = '{instance=~"$instance", model_name=~"$model"}'
_RANK = "{{instance}} DP{{dp_rank}} PP{{pp_rank}}"
_SERVER = "{{instance}}"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One graph: series with their legends, a unit, and a planned figure where there is one."""

    title: str
    series: Mapping[str, str]
    """Recorded series to the legend."""
    unit: str = "short"
    planned: float | None = None
    stacked: bool = False


def panels(planned: PlannedFigures) -> tuple[Panel, ...]:
    """The graphs, in reading order."""
    return (
        Panel(
            title="Requests",
            series={"poolsplit:running_requests": f"running {_RANK}", "poolsplit:queued_requests": f"queued {_RANK}"},
            planned=planned.running_requests,
        ),
        _pool_panel("State slots", "state_slots", planned.state_slots),
        _pool_panel("KV tokens", "kv_tokens", planned.kv_rows),
        Panel(
            title="In use, not to be taken back",
            series={"poolsplit:state_used_fraction": f"state {_RANK}", "poolsplit:kv_used_fraction": f"KV {_RANK}"},
            unit="percentunit",
        ),
        Panel(
            title="What a new request can get",
            series={
                "poolsplit:state_reclaimable_fraction": f"state {_RANK}",
                "poolsplit:kv_reclaimable_fraction": f"KV {_RANK}",
            },
            unit="percentunit",
        ),
        Panel(
            title="Mean request, input and output",
            series={
                "poolsplit:mean_request_tokens": f"finished {_SERVER}",
                "poolsplit:mean_context_tokens": f"running {_RANK}",
            },
            planned=planned.request_tokens,
        ),
        Panel(
            title="Prompt tokens from the cache",
            series={"poolsplit:cached_fraction_by_tier": "{{mode}} {{instance}}"},
            unit="percentunit",
            planned=planned.cached_fraction,
            stacked=True,
        ),
        Panel(
            title="Finished and thrown back",
            series={
                "poolsplit:finished_requests": f"finished {_SERVER}",
                "poolsplit:retracted_requests": f"retracted {_SERVER}",
            },
            unit="reqps",
        ),
        Panel(
            title="Host tier",
            series={
                "poolsplit:host_states_fraction": f"states {_RANK}",
                "poolsplit:host_tokens_fraction": f"KV rows {_RANK}",
            },
            unit="percentunit",
        ),
        Panel(title="Between prefill and decode", series={"poolsplit:transfer_requests": _RANK}),
    )


def _pool_panel(title: str, name: str, planned: int | None) -> Panel:
    parts = {"used": "in use", "evictable": "kept", "available": "free"}
    series = {f"poolsplit:{name}_{part}": f"{word} {_RANK}" for part, word in parts.items()}
    return Panel(title=title, series=series, planned=planned, stacked=True)


def dashboard(planned: PlannedFigures) -> dict[str, Any]:
    """The dashboard, ready to be imported."""
    return {
        "title": f"poolsplit: {planned.model}",
        "uid": None,
        "tags": ["poolsplit"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables()},
        "annotations": {"list": []},
        "panels": [_panel(number, panel) for number, panel in enumerate(panels(planned))],
    }


def _variables() -> list[dict[str, Any]]:
    source = {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}
    labels = {"instance": "instance", "model": "model_name"}
    queried = [
        {
            "name": name,
            "label": name.capitalize(),
            "type": "query",
            "datasource": _SOURCE,
            "query": f"label_values(poolsplit:running_requests, {label})",
            "includeAll": True,
            "multi": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
            "refresh": 2,
        }
        for name, label in labels.items()
    ]
    return [source, *queried]


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    per_row = _COLUMNS // _WIDTH
    place = {"x": number % per_row * _WIDTH, "y": number // per_row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": _targets(panel),
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                "min": 0,
                "custom": {
                    "stacking": {"mode": "normal" if panel.stacked else "none"},
                    "fillOpacity": 30 if panel.stacked else 0,
                    "thresholdsStyle": {"mode": "off" if panel.planned is None else "line"},
                },
                "thresholds": {"mode": "absolute", "steps": _steps(panel.planned)},
            },
            "overrides": [],
        },
    }


def _targets(panel: Panel) -> list[dict[str, Any]]:
    return [
        {
            "refId": chr(ord("A") + number),
            "expr": f"{series}{_FILTER}",
            "legendFormat": legend,
            "datasource": _SOURCE,
        }
        for number, (series, legend) in enumerate(panel.series.items())
    ]


def _steps(planned: float | None) -> list[dict[str, Any]]:
    base: dict[str, Any] = {"color": "transparent", "value": None}
    return [base] if planned is None else [base, {"color": "blue", "value": planned}]
