"""Joins the replay with the engine's cache law, with traces and with the JSON forms; `api` hands its answers on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InfeasiblePlanError, InputError, TraceFormatError
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.golden_form import read_workload, write_result
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DEFAULT_VERSION = "0.5.23"


def prepare() -> None:
    """Compiles the kernel, or takes it from disk, by replaying nothing."""
    replay(ReplayConfig(rules=cache_rules(), kv_tokens=64, state_slots=8), Workload(requests=()))


def replay_batch(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One line of decisions for each line of workload; a workload that stops the engine is answered by its error.

    Raises:
        TraceFormatError: A line that is not a workload.
        InputError: A workload whose options cannot go together.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
            answer = _answer(row)
        except msgspec.DecodeError as error:
            raise TraceFormatError(
                f"not JSON: {error}", where=f"line {number}", hint="a batch has one JSON object a line"
            ) from None
        except InputError as error:
            error.where = error.where or f"line {number}"
            raise
        yield msgspec.json.encode(answer) + b"\n"


def _answer(row: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TraceFormatError("a workload is a JSON object", hint="a batch has one JSON object a line")
    config, workload = read_workload(row, cache_rules(row.get("engine_version", DEFAULT_VERSION)))
    want_freed = bool(row.get("want_freed", False))
    try:
        result = replay(config, workload, notes_freed=want_freed)
    except InfeasiblePlanError as error:
        return {"n": row.get("n"), "error": error.message, "hint": error.hint}
    return {"n": row.get("n"), **write_result(result, want_freed=want_freed)}
