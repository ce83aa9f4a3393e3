"""The split that a trace recommends with fewer and more sessions, and what would be best there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.errors import InfeasiblePlanError
from poolsplit.plan_answer import TraceWhatIf

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.answers.surfaces.answer import LineAnswer
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.surface.cells import Split

WHAT_IF_FACTORS = (0.5, 0.75, 1.5, 2.0)


def what_if(ground: Ground, best: Split, line_of: Callable[[Ground], LineAnswer]) -> tuple[TraceWhatIf, ...]:
    """The recommended split with fewer and more sessions, and what would be best there."""
    today = ground.timing.sessions if ground.timing.mode == "closed" else None
    if today is None:
        return ()
    counts = sorted({max(1, round(today * factor)) for factor in WHAT_IF_FACTORS} - {today})
    return tuple(_with_sessions(ground, best, line_of, count) for count in counts)


def _with_sessions(ground: Ground, best: Split, line_of: Callable[[Ground], LineAnswer], count: int) -> TraceWhatIf:
    config = ground.config
    names = ("strategy", "overlap", "page_tokens", "chunk_tokens", "state_chunk_tokens", "max_states_per_path",
             "track_interval_tokens")  # fmt: skip
    other = ground_of(
        ground.trace,
        version=config.rules.version,
        server={name: getattr(config, name) for name in names},
        timing=replace(ground.timing, sessions=count),
    )
    here = other.replays.one(best)
    try:
        line: LineAnswer | None = line_of(other)
    except InfeasiblePlanError:
        line = None
    return TraceWhatIf(
        sessions=count,
        recomputed_tokens=other.input_tokens - here.cached_tokens if here.fits else None,
        reason=None if here.fits else f"what runs at once does not fit the {here.out_of} pool",
        best_state_slots=None if line is None else line.best.state_slots,
        best_kv_tokens=None if line is None else line.best.kv_tokens,
        best_recomputed_tokens=None if line is None else line.recomputed_tokens,
    )
