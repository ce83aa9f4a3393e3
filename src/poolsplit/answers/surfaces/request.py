"""What a command line asks of a surface, in the words of the replay and of the search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.answers.cache_words import cache_fields
from poolsplit.answers.plan_file import figures_of_plan
from poolsplit.errors import InputError, UsageError
from poolsplit.replay.ordered.order import Timing
from poolsplit.surface.cells import Split
from poolsplit.surface.line import Budget
from poolsplit.units import TIB, format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_VERSION = "0.5.23"
MOST_BUDGET_BYTES = 16 * TIB
"""Far above the memory of any one card: a budget beyond it is a slip of the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRequest:
    """A server, an order, and the bytes to share, if any."""

    version: str
    server: dict[str, Any]
    """Fields of `replay.config.ReplayConfig`."""
    timing: Timing
    budget: Budget | None
    current: Split | None = None
    """The split as it stands, by a plan; None where no plan says it."""


def surface_request(*, server: Mapping[str, Any], pace: Mapping[str, Any], budget: Mapping[str, Any]) -> SurfaceRequest:
    """Reads what was asked; unset words are None.

    Raises:
        InputError: A size, count or plan that is none.
        UsageError: A budget that lacks a part.
    """
    return SurfaceRequest(
        version=server.get("engine_version") or DEFAULT_VERSION,
        server=cache_fields(server),
        timing=timing_of(pace),
        budget=_budget_of(budget),
        current=_current_of(budget.get("plan")),
    )


def timing_of(pace: Mapping[str, Any]) -> Timing:
    """The order that requests are replayed in."""
    closed = pace["mode"] == "closed"
    sessions = pace["sessions"]
    if closed and sessions is None:
        raise UsageError(
            "a closed loop needs `--sessions`, or `--live-sessions`", hint="give the sessions open at a time"
        )
    think = pace.get("longest_think")
    return Timing(
        mode=pace["mode"],
        sessions=sessions if closed else None,
        outstanding=1 if closed or sessions is None else sessions,
        prefill_tokens_per_s=pace["prefill_tokens_per_s"],
        decode_tokens_per_s=pace["decode_tokens_per_s"],
        **({} if think is None else {"longest_think_s": parse_duration(think)}),
    )


def _budget_of(asked: Mapping[str, Any]) -> Budget | None:
    planned = _planned(asked.get("plan"))
    words = ("budget", "state_bytes", "kv_bytes")
    given = {word: asked[word] for word in words if asked.get(word) is not None}
    if not planned and not given:
        return None
    found = {**planned, **given}
    for word in words:
        if word not in found:
            option = word.replace("_", "-")
            raise UsageError(f"a budget line needs `--{option}`", hint="give all three, or `--plan plan.json`")
    total = found["budget"] if isinstance(found["budget"], int) else parse_size(found["budget"])
    if total > MOST_BUDGET_BYTES:
        raise InputError(
            f"no card holds {format_size(total)} of pools",
            where="--budget",
            hint="give one rank's bytes, such as 60GiB",
        )
    return Budget(total_bytes=total, state_bytes=int(found["state_bytes"]), kv_bytes=float(found["kv_bytes"]))


def _current_of(plan: str | None) -> Split | None:
    """The split that a plan found standing; one that the engine refuses has none."""

    def sizes(document: Any) -> Split | None:
        now = document.get("current") or {}
        slots, tokens = now.get("state_slots"), now.get("kv_tokens")
        return Split(state_slots=int(slots), kv_tokens=int(tokens)) if slots and tokens else None

    return None if plan is None else figures_of_plan(plan, sizes)


def _planned(plan: str | None) -> dict[str, Any]:
    """Budget and prices of a plan: per rank, with the tokens that the whole deployment can address."""

    def prices(document: Any) -> dict[str, Any]:
        constants = document["constants"]
        return {
            "budget": int(document["rest_bytes"]),
            "state_bytes": int(constants["state_bytes_per_slot"]),
            "kv_bytes": float(constants["kv_bytes_per_token"]) / int(constants["dcp_size"]),
        }

    return {} if plan is None else figures_of_plan(plan, prices)
