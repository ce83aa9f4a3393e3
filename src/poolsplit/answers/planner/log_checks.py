"""What a log must hold for a plan, and what may not stand beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.answers.planner.measured_log import LINES_HINT, ReadLog
from poolsplit.errors import LogFormatError, UsageError

if TYPE_CHECKING:
    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.boot_report import BootReport, RankReport


def refuse_memory_beside(request: LaunchRequest) -> None:
    """The log's own figures are what a plan from a log is for.

    Raises:
        UsageError: Memory is given beside it.
    """
    given = {
        "--weights": request.weights,
        "--free-before": request.free_before,
        "--free-after": request.free_after,
    }
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"`{option}` stands beside --boot-log, which tells the memory itself",
                hint=f"leave out `{option}`, or --boot-log",
            )


def unlike_model(request: LaunchRequest, log: ReadLog) -> tuple[str, ...]:
    """A warning where a model is named or known, and its sizes do not give what the log printed."""
    from poolsplit.shapes import catalog

    name = log.launch.values.get("model_path")
    if name is None or (request.model is None and catalog.find(str(name)) is None):
        return ()
    text = (
        f"the printed pools do not come out at the sizes of {name} with the card and flags that are known: the log's "
        "own figures answer, and nothing that needs the model does"
    )
    return (text,)


def usable(boots: tuple[BootReport, ...], name: str) -> tuple[BootReport, RankReport]:
    """The last start with both pools and its tightest rank; else the last with both weight lines.

    Raises:
        LogFormatError: There is neither; the message says what is missing.
    """
    for boot in reversed(boots):
        pooled = [rank for rank in boot.ranks.values() if rank.state and rank.kv]
        if pooled:
            return boot, _tightest(pooled)
    for boot in reversed(boots):
        weighed = [rank for rank in boot.ranks.values() if rank.load_begin and rank.after_weights]
        if weighed:
            return boot, min(weighed, key=lambda rank: rank.after_weights.value if rank.after_weights else 0.0)
    raise LogFormatError(_what_is_missing(boots), where=name, hint=LINES_HINT)


def _what_is_missing(boots: tuple[BootReport, ...]) -> str:
    ranks = [rank for boot in boots for rank in boot.ranks.values()]
    if any(rank.state for rank in ranks):
        return "the log has a state pool line and no KV pool line with its sizes"
    if any(rank.kv for rank in ranks):
        return "the log has a KV pool line and no state pool line: the server is no hybrid, or the log is cut"
    return "there is no pool line in the log"


def _tightest(ranks: list[RankReport]) -> RankReport:
    """The rank whose pools bind: fewest slots, then fewest rows."""
    return min(
        ranks,
        key=lambda rank: (
            rank.rest_bytes is None,
            (rank.state and rank.state.state_slots) or 0,
            rank.kv_tokens or 0,
        ),
    )
