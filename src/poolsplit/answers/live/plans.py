"""Plan files as the live rooms use them: the split to set, and the files of a dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from poolsplit.engines.sglang import metrics
from poolsplit.engines.sglang.recorded import recorded_series
from poolsplit.errors import InputError
from poolsplit.live.expected import PLAN_HINT, PlannedSplit, from_plan, planned_split
from poolsplit.report.alert_rules import PlannedFigures, rules_yaml
from poolsplit.report.dashboard import dashboard


def planned_split_of(path: str) -> PlannedSplit:
    """The split that a plan file recommends.

    Raises:
        InputError: The file cannot be read, or is no plan.
    """
    return planned_split(read_json(path), where=path)


def dashboard_files(plan: str, *, gateway: bool) -> dict[str, Any]:
    """Files of a dashboard for a plan: a decoded JSON object and a text, by file name.

    Raises:
        InputError: The plan cannot be read.
    """
    document = read_json(plan)
    expected = from_plan(document, where=plan)
    constants = expected.constants
    planned = PlannedFigures(
        model=str(document.get("model") or "server"),
        state_slots=expected.state_slots,
        kv_rows=expected.kv_tokens // (constants.dcp_size if constants else 1) if expected.kv_tokens else None,
        slots_per_request=constants.slots_per_request if constants else None,
        granted_requests=expected.granted_requests,
        running_requests=expected.running_requests,
        request_tokens=expected.request_tokens,
        cached_fraction=expected.cached_fraction,
        flags=expected.flags,
    )
    series = recorded_series(metrics.PREFIXES[1 if gateway else 0])
    return {"dashboard.json": dashboard(planned), "rules.yml": rules_yaml(series, planned)}


def read_json(path: str) -> Any:
    """A decoded JSON file.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", hint=PLAN_HINT, where=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", hint=PLAN_HINT, where=path) from None
