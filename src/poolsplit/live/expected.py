"""What a server should show: read from a plan, or followed from what the server says of its own start-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError
from poolsplit.live.constants import PoolConstants
from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.live_reading import ServerFacts


_BEYOND_ANY_FIGURE = 2**63
PLAN_HINT = "write one with `poolsplit plan ... --json -o plan.json`"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNeed:
    """What one kept conversation holds."""

    tokens: int
    checkpoints: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Predicted figures; None where nothing was predicted. Requests are per data-parallel worker."""

    origin: str
    """`plan` or `server_info`."""
    constants: PoolConstants | None = None
    constants_reason: str | None = None
    """Why there are none."""
    state_slots: int | None = None
    kv_tokens: int | None = None
    """Logical tokens: rows of a rank times the decode context ranks."""
    granted_requests: int | None = None
    running_requests: int | None = None
    """What runs at once under the planned traffic."""
    binding: str | None = None
    request_tokens: float | None = None
    cached_fraction: float | None = None
    reuse_limit: float | None = None
    """What the traffic's repeats allow with endless pools."""
    session: SessionNeed | None = None
    flags: tuple[str, ...] = ()


def from_plan(plan: Mapping[str, Any], *, where: str) -> Expected:
    """The recommended split of a plan document.

    Raises:
        InputError: Not a plan, or a plan without a recommendation.
    """
    recommended = plan.get("recommended") if isinstance(plan, dict) else None
    if not isinstance(recommended, dict) or plan.get("command") != "plan":
        raise InputError("not a plan", hint=PLAN_HINT, where=where)
    workload = _mapping(plan.get("workload"))
    constants, binding = _constants(_mapping(plan.get("constants"))), recommended.get("binding")
    return Expected(
        origin="plan",
        constants=constants,
        constants_reason=None if constants else "the plan carries no constants",
        state_slots=_whole(recommended.get("state_slots")),
        kv_tokens=_whole(recommended.get("kv_tokens")),
        granted_requests=_whole(recommended.get("max_running_requests")),
        running_requests=_whole(recommended.get("running_requests")),
        binding=binding if isinstance(binding, str) else None,
        request_tokens=_number(workload.get("mean_tokens") or workload.get("context")),
        cached_fraction=_number(workload.get("cached_fraction")),
        reuse_limit=_number(workload.get("infinite_reuse_fraction")),
        session=_session(plan),
        flags=tuple(str(flag) for flag in _list(recommended.get("flags"))),
    )


def from_facts(facts: ServerFacts, constants: PoolConstants | None, *, constants_reason: str | None) -> Expected:
    """What follows from a server's own start-up: the granted requests of its pools and its request limit."""
    return Expected(
        origin="server_info",
        constants=constants,
        constants_reason=constants_reason,
        state_slots=facts.state_slots,
        kv_tokens=None if facts.kv_tokens is None else facts.kv_tokens * facts.dcp_size,
        granted_requests=facts.expected_per_worker,
    )


def _constants(found: Mapping[str, Any]) -> PoolConstants | None:
    slot, row, slots = (
        _number(found.get(name)) for name in ("state_bytes_per_slot", "kv_bytes_per_token", "slots_per_request")
    )
    if not slot or not row or not slots:
        return None
    return PoolConstants(
        state_bytes_per_slot=int(slot),
        kv_bytes_per_token=row,
        slots_per_request=int(slots),
        draft_states=_whole(found.get("draft_states")) or 0,
        dcp_size=_whole(found.get("dcp_size")) or 1,
        origin=str(found.get("origin") or "plan"),
    )


def _session(plan: Mapping[str, Any]) -> SessionNeed | None:
    """What one session of the plan holds: the rows of all of them, shared out over their number."""
    sessions = _mapping(plan.get("sessions"))
    count, rows = _whole(sessions.get("sessions_per_worker")), _whole(sessions.get("kv_tokens_needed"))
    if not count or not rows:
        return None
    return SessionNeed(
        tokens=ceil_div(rows, count), checkpoints=_number(sessions.get("checkpoints_per_session")) or 1.0
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _number(value: object) -> float | None:
    """A number of at least 0 that a figure can be; anything else is not known."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < _BEYOND_ANY_FIGURE else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSplit:
    """The one setting that a plan recommends for the split, with what it predicts."""

    state_to_kv_ratio: float | None
    max_state_slots: int | None
    """Pinned slots over all data-parallel workers; exactly one of the two is set."""
    state_bytes_per_slot: int | None
    state_slots: int | None
    kv_tokens: int | None
    max_running_requests: int | None


def planned_split(plan: Mapping[str, Any], *, where: str) -> PlannedSplit:
    """The recommended split of a plan document.

    Raises:
        InputError: Not a plan, or its mode and value do not fit.
    """
    expected = from_plan(plan, where=where)
    recommended = plan["recommended"]
    mode = recommended.get("mode")
    ratio, pin = _number(recommended.get("state_to_kv_ratio")), _whole(recommended.get("max_mamba_cache_size"))
    value = {"ratio": ratio, "pin": pin}.get(mode) if isinstance(mode, str) else None
    if value is None or not value:
        raise InputError("the plan recommends neither a ratio nor a pin above 0", hint=PLAN_HINT, where=where)
    return PlannedSplit(
        state_to_kv_ratio=ratio if mode == "ratio" else None,
        max_state_slots=pin if mode == "pin" else None,
        state_bytes_per_slot=expected.constants.state_bytes_per_slot if expected.constants else None,
        state_slots=expected.state_slots,
        kv_tokens=expected.kv_tokens,
        max_running_requests=expected.granted_requests,
    )
