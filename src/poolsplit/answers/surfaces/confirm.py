"""Splits put to the whole scheduler: admission, batches and retraction, which the ordered replay leaves out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.answers.surfaces.answer import line_at
from poolsplit.answers.trace_replay import replay_of
from poolsplit.errors import InfeasiblePlanError
from poolsplit.surface.cells import Outcome
from poolsplit.surface.line import HARDLY
from poolsplit.surface.surface import CellError, with_outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.answers.surfaces.answer import LineAnswer, SurfaceAnswer
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.surface.cells import Split

CLEARLY = 0.005
"""Share of recomputed tokens from which a difference counts."""


SERVER_FIELDS = (
    "strategy",
    "overlap",
    "page_tokens",
    "chunk_tokens",
    "state_chunk_tokens",
    "track_interval_tokens",
    "max_states_per_path",
    "max_running_requests",
)
"""What the scheduler is told of the server beside its pools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """One split by the ordered replay and by the scheduler."""

    role: str
    """`best`, `neighbour`, `default`, `current`, or `searched`: the replay's choice where the scheduler has another."""
    split: Split
    ordered: Outcome
    cached_tokens: int | None
    """By the scheduler; None when it cannot run this split."""
    reason: str | None
    running_mean: float | None
    running_max: int | None
    retractions: int | None


def scheduler_pace(ground: Ground) -> tuple[dict[str, object] | None, str | None]:
    """How the scheduler sends the same requests, or why it cannot."""
    timing = ground.timing
    if timing.mode == "order":
        return {"clock": "order", "sessions": timing.outstanding}, None
    if timing.prefill_tokens_per_s is None or timing.decode_tokens_per_s is None:
        return None, "the scheduler needs a prefill and a decode rate to keep this clock"
    return {
        "clock": timing.mode,
        "sessions": timing.sessions or 1,
        "prefill_tokens_per_s": timing.prefill_tokens_per_s,
        "decode_tokens_per_s": ((1, timing.decode_tokens_per_s),),
    }, None


def confirmed(ground: Ground, line: LineAnswer) -> tuple[Confirmed, ...]:
    """The best split, its neighbours, the default and the current one by the whole scheduler.

    Empty where it cannot keep the clock.
    """
    pace, _ = scheduler_pace(ground)
    if pace is None:
        return ()
    wanted = [("best", line.best), *(("neighbour", s) for s in line.neighbours), ("default", line.default)]
    if line.current is not None:
        wanted.append(("current", line.current))
    ran: dict[Split, Confirmed] = {}
    for role, split in wanted:
        if split not in ran:
            ran[split] = _confirm(ground, pace, role, split)
    return tuple(replace(ran[split], role=role) for role, split in wanted)


def confirm_split(ground: Ground, split: Split) -> Confirmed | None:
    """One more split by the whole scheduler; None where it cannot keep the clock."""
    pace, _ = scheduler_pace(ground)
    return None if pace is None else _confirm(ground, pace, "rival", split)


def _confirm(ground: Ground, pace: dict[str, object], role: str, split: Split) -> Confirmed:
    ordered, config = ground.replays.one(split), ground.config
    blank = Confirmed(
        role=role,
        split=split,
        ordered=ordered,
        cached_tokens=None,
        reason=None,
        running_mean=None,
        running_max=None,
        retractions=None,
    )
    if split.state_slots < config.slots_per_request:
        return replace(blank, reason="too few state slots for one request")
    server = {name: getattr(config, name) for name in SERVER_FIELDS}
    server |= {"state_slots": split.state_slots, "kv_tokens": split.kv_tokens}
    try:
        summary = replay_of(ground.trace, version=config.rules.version, server=server, pace=pace).summary
    except InfeasiblePlanError as error:
        return replace(blank, reason=error.message)
    left_out = summary.rejected + summary.unfinished
    return replace(
        blank,
        cached_tokens=None if left_out else summary.cached_tokens,
        reason=f"{left_out} requests were not served" if left_out else None,
        running_mean=summary.running["mean"],
        running_max=int(summary.running["max"]),
        retractions=summary.retractions,
    )


def scheduler_prefers(ground: Ground, found: Sequence[Confirmed]) -> str | None:
    """A sentence where the scheduler recomputes clearly less at another confirmed split than at the best one.

    It can where requests wait: fewer run at once than the fixed order has running, and less is evicted.
    """
    known = {c.role: c for c in found if c.cached_tokens is not None}
    best = known.get("best")
    if best is None or best.cached_tokens is None:
        return None
    other = max((c for c in found if c.cached_tokens is not None), key=lambda c: c.cached_tokens or 0)
    there, here = (ground.input_tokens - (c.cached_tokens or 0) for c in (other, best))
    if there >= here * (1 - CLEARLY):
        return None
    return (
        f"the scheduler recomputes {1 - there / here:.1%} fewer tokens at the {other.role} split of "
        f"{other.split.state_slots} slots and {other.split.kv_tokens} tokens, where {other.running_mean:.1f} requests "
        f"run at once instead of {best.running_mean:.1f}: others wait, which the fixed order does not let them"
    )


def with_confirmed(answer: SurfaceAnswer, found: Sequence[Confirmed]) -> SurfaceAnswer:
    """The surface with the cells that the scheduler ran, and the error of the ordered replay at each of its splits."""
    ran = {c.split: Outcome(cached_tokens=c.cached_tokens, out_of=None) for c in found if c.cached_tokens is not None}
    surface = with_outcomes(answer.surface, ran, "scheduler")
    on_grid = {(e.state_slots, e.kv_tokens) for e in surface.errors if e.better_method == "scheduler"}
    beside = tuple(
        CellError(
            state_slots=c.split.state_slots,
            kv_tokens=c.split.kv_tokens,
            method="replay",
            better_method="scheduler",
            error_tokens=c.ordered.cached_tokens - c.cached_tokens,
        )
        for c in found
        if c.cached_tokens is not None and c.ordered.fits and (c.split.state_slots, c.split.kv_tokens) not in on_grid
    )
    answer = replace(answer, surface=replace(surface, errors=surface.errors + beside), confirmed=tuple(found))
    return answer if answer.line is None else _judged(answer, answer.line)


def _judged(answer: SurfaceAnswer, line: LineAnswer) -> SurfaceAnswer:
    """The answer with the scheduler's own choice among the splits of the line that it served.

    The recommended one stays, in the middle of its valley, unless it is behind a rival or clearly behind a neighbour.
    """
    served = {c.split: c.cached_tokens for c in answer.confirmed if c.split in line.splits}
    lost = {s: answer.ground.input_tokens - n for s, n in served.items() if n is not None}
    if not lost:
        return answer
    winner = min(lost, key=lambda s: lost[s])
    most = min([lost[winner] * (1 + HARDLY), *(lost[s] for s in line.rivals if s in lost)])
    if line.best in lost and lost[line.best] <= most:
        return answer
    others = (replace(c, role="searched" if c.role == "best" else c.role) for c in answer.confirmed)
    chosen = next(c for c in answer.confirmed if c.split == winner)
    kept = [c for c in others if c.split != winner or c.role != "neighbour"]
    moved = line_at(answer.ground, line, line.splits.index(winner))
    return replace(answer, line=moved, confirmed=(replace(chosen, role="best"), *kept))


__all__ = ["Confirmed", "confirm_split", "confirmed", "scheduler_pace", "with_confirmed"]
