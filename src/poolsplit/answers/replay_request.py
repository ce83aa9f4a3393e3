"""What a command line asks of a replay, in the words of the replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poolsplit.answers.cache_words import CACHE_FIELDS, cache_fields
from poolsplit.answers.plan_file import figures_of_plan
from poolsplit.answers.replay_host import HOST_WORDS, host_of
from poolsplit.answers.replay_unified import UNIFIED_WORDS, unified_of
from poolsplit.engines.sglang.boot_log.speeds import read_speeds
from poolsplit.errors import InputError, UsageError
from poolsplit.replay.rates import MeasuredRates, fit_decode, fit_prefill
from poolsplit.units import parse_count

if TYPE_CHECKING:
    from collections.abc import Mapping

_CACHE_WORDS = (*CACHE_FIELDS, *HOST_WORDS, *UNIFIED_WORDS)
_PLANNED = ("state_slots", "kv_tokens", "max_running_requests")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """A server, a clock and the release whose law is followed."""

    version: str
    server: dict[str, Any]
    """Fields of `replay.config.ReplayConfig`."""
    pace: dict[str, Any]
    """Fields of `replay.trace_run.Pace`."""
    origins: dict[str, str] = field(default_factory=dict)
    """Word of the command line and where its value came from: `command line` or the plan."""
    measured: MeasuredRates = field(default_factory=MeasuredRates)
    """What of the pace a log gave."""


def replay_request(split: Mapping[str, Any], pace: Mapping[str, Any], default_version: str) -> ReplayRequest:
    """Reads what was asked; unset words are None.

    Raises:
        InputError: A plan or log that cannot be read, a log with too few lines, or a count or rate that is none.
        UsageError: No pools.
    """
    plan = split["plan"]
    planned, prices = ({}, {}) if plan is None else figures_of_plan(plan, _of_plan)
    given = {word: value for word, value in split.items() if value is not None and word != "plan"}
    if any(word in given for word in HOST_WORDS):
        planned = {word: value for word, value in planned.items() if word not in HOST_WORDS}
    asked = {**planned, **given}
    for word in ("state_slots", "kv_tokens"):
        if word not in asked:
            option = word.replace("_", "-")
            raise UsageError(f"a replay needs `--{option}`", hint="give both pools, or `--plan plan.json`")
    sizes = {word: _count(asked[word]) for word in _PLANNED if word in asked}
    host, unified = host_of(asked, sizes, prices), unified_of(asked, prices)
    prefill_per_s, decode_per_s = pace["prefill_tokens_per_s"], _rates(pace["decode_tokens_per_s"])
    measured = _measured(pace["rates_from"], prefill=prefill_per_s is None, decode=not decode_per_s)
    return ReplayRequest(
        version=asked.get("engine_version", default_version),
        server={**sizes, **cache_fields(asked), **_given({"host": host, "unified": unified})},
        origins={word: "command line" if word in given else f"plan {plan}" for word in asked},
        pace={
            "clock": pace["mode"],
            "sessions": pace["sessions"],
            "prefill_tokens_per_s": measured.prefill.tokens_per_s if measured.prefill else prefill_per_s,
            "decode_tokens_per_s": measured.decode.tokens_per_s if measured.decode else decode_per_s,
        },
        measured=measured,
    )


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _measured(log: str | None, *, prefill: bool, decode: bool) -> MeasuredRates:
    """Fits what is wanted from a log."""
    if log is None or not (prefill or decode):
        return MeasuredRates()
    try:
        seen = read_speeds([log])
        return MeasuredRates(
            log=log, prefill=fit_prefill(seen) if prefill else None, decode=fit_decode(seen) if decode else None
        )
    except InputError as error:
        error.where = error.where or log
        raise


def _count(value: int | str) -> int:
    return parse_count(value) if isinstance(value, str) else value


def _of_plan(document: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """What a plan says of the server, in the words of the command line, and what a slot and a token cost."""
    recommended, cache, constants = document["recommended"], document.get("cache") or {}, document.get("constants", {})
    sizes = {word: int(recommended[word]) for word in _PLANNED if recommended.get(word) is not None}
    options = {word: cache[word] for word in _CACHE_WORDS if cache.get(word) is not None}
    if constants.get("state_bytes_per_slot") is None or constants.get("kv_bytes_per_token") is None:
        return {**sizes, **options}, {}
    prices = {
        "state_bytes_per_slot": constants["state_bytes_per_slot"],
        "kv_bytes_per_token": constants["kv_bytes_per_token"] / constants["dcp_size"],
    }
    return {**sizes, **options}, prices


def _rates(text: str | None) -> tuple[tuple[int, float], ...]:
    if text is None:
        return ()
    try:
        pairs = [part.split(":") if ":" in part else ["1", part] for part in text.split(",")]
        return tuple((int(running), float(rate)) for running, rate in pairs)
    except ValueError:
        raise InputError(
            f"`{text}` is not a decode rate", hint="write `60`, or rates by running requests such as `1:80,32:45`"
        ) from None
