"""Conditions that a deployment must meet, each judged on what a server, a log or a plan says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from poolsplit.derivation import Step, step_documents
from poolsplit.errors import UsageError
from poolsplit.live.document import derivation
from poolsplit.live.verify import Tolerances

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.live.expected import Expected
    from poolsplit.live.session import Judged
    from poolsplit.live.verify import Comparison

Kind = Literal["server", "session", "log", "plan"]
Split = Literal["recommended", "current"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What is asked; None is not asked."""

    min_requests: int | None = None
    """Requests that must be able to run at once, over all workers."""
    min_cached_fraction: float | None = None
    max_error: float | None = None
    """Largest distance of a measured size from the predicted one, as a fraction."""

    def __post_init__(self) -> None:
        """Conditions must be able to hold.

        Raises:
            UsageError: A fraction outside 0 to 1, or a number below 0.
        """
        if self.min_requests is not None and self.min_requests < 0:
            raise UsageError("`--min-requests` is below 0", hint="ask for 0 or more requests")
        for name, value in (("--min-cached-fraction", self.min_cached_fraction), ("--max-error", self.max_error)):
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"`{name}` is not a share", hint="write a number from 0 to 1, such as 0.05")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What conditions are judged on. Unknown is None, with a reason."""

    kind: Kind
    running_requests: int | None
    running_reason: str | None = None
    cached_fraction: float | None
    cached_reason: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    """Predicted beside measured sizes."""
    interval_fraction: float | None = None
    """How far a plan's own bytes may be off."""
    interval_reason: str | None = None
    derivation: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One condition. What cannot be judged does not hold."""

    name: str
    want: str
    got: int | float | str | None
    ok: bool
    reason: str | None = None


def judge_figures(figures: Figures, conditions: Conditions) -> tuple[CheckRow, ...]:
    """Every asked condition in a fixed order; without any, whether the measured sizes are the predicted ones."""
    rows: list[CheckRow] = []
    if conditions.min_requests is not None:
        running = figures.running_requests
        ok = running is not None and running >= conditions.min_requests
        want = f">= {conditions.min_requests}"
        rows.append(CheckRow(name="running_requests", want=want, got=running, ok=ok, reason=figures.running_reason))
    if conditions.min_cached_fraction is not None:
        cached = figures.cached_fraction
        ok = cached is not None and cached >= conditions.min_cached_fraction
        want = f">= {conditions.min_cached_fraction}"
        got = None if cached is None else round(cached, 6)
        rows.append(CheckRow(name="cached_fraction", want=want, got=got, ok=ok, reason=figures.cached_reason))
    if conditions.max_error is not None or not rows:
        rows.extend(_error_rows(figures, conditions.max_error))
    return tuple(rows)


def _error_rows(figures: Figures, max_error: float | None) -> list[CheckRow]:
    if figures.kind == "plan":
        return [_interval_row(figures, max_error)]
    sizes = [row for row in figures.comparisons if row.name in SIZE_NAMES]
    rows = [_size_row(row, max_error) for row in sizes if row.predicted is not None]
    if rows:
        return rows
    reason = "nothing was predicted: give a plan, or a server whose start-up can be followed"
    return [CheckRow(name="error", want=_want(max_error), got=None, ok=False, reason=reason)]


SIZE_NAMES = ("state_slots", "kv_tokens", "max_running_requests")


def _size_row(row: Comparison, max_error: float | None) -> CheckRow:
    allowed = row.tolerance if max_error is None else max_error
    error = row.error_fraction
    return CheckRow(
        name=f"error {row.name}",
        want=_want(allowed),
        got=None if error is None else round(error, 6),
        ok=error is not None and error <= allowed,
        reason=f"predicted {row.predicted}, {_seen(row.measured)}",
    )


def _seen(measured: float | str | None) -> str:
    return "not told here" if measured is None else f"measured {measured}"


def _interval_row(figures: Figures, max_error: float | None) -> CheckRow:
    share = figures.interval_fraction
    allowed = 1.0 if max_error is None else max_error
    return CheckRow(
        name="error rest_bytes",
        want=_want(allowed),
        got=None if share is None else round(share, 6),
        ok=share is not None and share <= allowed,
        reason=figures.interval_reason,
    )


def _want(allowed: float | None) -> str:
    return f"<= {Tolerances().sizes if allowed is None else allowed:g}"


def server_figures(judged: Judged, *, kind: Kind) -> Figures:
    """Figures of one replica: what it admits, less where its KV rows hold fewer requests of the measured length."""
    sample, view = judged.sample, judged.view
    facts, length = sample.facts, view.mean_request_tokens
    granted = facts.granted_running_requests if facts else None
    running, reason = granted, None
    if granted is None:
        reason = "the server does not say what it admits"
    elif facts and facts.kv_tokens and length:
        by_kv = int(facts.kv_tokens * facts.dcp_size // length) * max(1, sample.workers)
        if by_kv < granted:
            running, reason = by_kv, f"{granted} are admitted, the KV rows hold {by_kv} of {length:.0f} tokens"
    cached = view.traffic.cached_fraction
    return Figures(
        kind=kind,
        running_requests=running,
        running_reason=reason,
        cached_fraction=cached,
        cached_reason="no prompt tokens were counted" if cached is None else None,
        comparisons=judged.comparisons,
        derivation=derivation(judged),
        warnings=sample.warnings,
    )


def plan_figures(plan: Mapping[str, Any], expected: Expected, *, split: Split = "recommended") -> Figures:
    """Figures of a plan document: of the split that it recommends, or of its launch as it stands."""
    judged = plan["recommended"] if split == "recommended" else plan["current"]
    interval, warnings = plan.get("rest_interval_bytes"), plan.get("warnings")
    share, reason = None, "the plan does not say how sure its bytes are"
    if _is_interval(interval):
        low, high = interval
        share, reason = (high - low) / (high + low), f"rest bytes are {plan.get('rest_origin')}"
    return Figures(
        kind="plan",
        running_requests=judged.get("total_running_requests"),
        running_reason=_other_split(plan, split),
        cached_fraction=expected.cached_fraction,
        cached_reason=None if expected.cached_fraction is not None else "a plan predicts no reuse",
        interval_fraction=share,
        interval_reason=reason,
        derivation=_steps(plan.get("derivation")),
        warnings=tuple(str(text) for text in warnings) if isinstance(warnings, list) else (),
    )


def _other_split(plan: Mapping[str, Any], split: Split) -> str | None:
    """Which split is judged, where the other one of the plan runs another number of requests."""
    recommended, current = plan["recommended"], plan.get("current")
    if not isinstance(current, dict) or current["total_running_requests"] == recommended["total_running_requests"]:
        return None
    flags = " ".join(recommended["flags"])
    if split == "recommended":
        return f"with {flags}; as it stands {current['total_running_requests']} (`--split current` judges that)"
    return f"as it stands; with {flags} {recommended['total_running_requests']}"


def _is_interval(found: object) -> TypeGuard[list[float]]:
    """A low and a high number of bytes."""
    if not isinstance(found, list) or len(found) != 2 or not all(isinstance(end, (int, float)) for end in found):  # noqa: PLR2004
        return False
    return bool(0 <= found[0] <= found[1] < inf and found[1] > 0)


def _steps(found: object) -> tuple[Step, ...]:
    """The steps that a plan document carries."""
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    fields = ("name", "value", "unit", "source")
    return tuple(Step(**{name: row.get(name) for name in fields}) for row in rows)  # type: ignore[arg-type]


def gate_document(
    asked: Mapping[str, Any], figures: Figures, conditions: Conditions, rows: tuple[CheckRow, ...]
) -> dict[str, Any]:
    """The JSON answer, with what was asked echoed; nothing in it changes from run to run unless the figures do."""
    return {
        "command": "check",
        **asked,
        "kind": figures.kind,
        "conditions": asdict(conditions),
        "ok": all(row.ok for row in rows),
        "checks": [asdict(row) for row in rows],
        "warnings": list(figures.warnings),
        "derivation": step_documents(figures.derivation),
    }
