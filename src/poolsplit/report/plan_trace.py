"""What a trace says about a split, as lines of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.report.columns import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.plan_answer import TraceFigures, TraceLever, TraceRival, TraceWhatIf

_GOALS = {
    "recompute": "fewest recomputed tokens",
    "concurrency": "most running requests, then fewest recomputed tokens",
    "balanced": "fewest recomputed tokens among splits that run nearly the most requests",
}


def trace_lines(figures: TraceFigures) -> str:
    """The part of a plan that follows from a trace."""
    lines = [*_head(figures), "", _rivals(figures.rivals), "", *_certainty(figures)]
    if figures.levers:
        lines += ["", _levers(figures.levers)]
    if figures.what_if:
        lines += ["", _what_if(figures.what_if)]
    return "\n".join(lines)


def trace_headline(figures: TraceFigures, flags: str, requests: int) -> str:
    """The answer in one line: what to paste, what then survives, and what today's split loses."""
    best = next(rival for rival in figures.rivals if rival.name == "recommended")
    survives = "" if best.cached_fraction is None else f"{best.cached_fraction:.2%} of the input tokens reused, "
    text = f"{flags} -> {survives}{requests:,} requests"
    current = next(rival for rival in figures.rivals if rival.name == "current")
    if current.regret_fraction is not None:
        return f"{text}; today's split recomputes {current.regret_fraction:+.1%}"
    return f"{text}; today's split: {current.reason}"


def _head(figures: TraceFigures) -> Iterator[str]:
    order = f"{figures.sessions} sessions at a time" if figures.sessions else f"mode {figures.mode}"
    yield f"Trace: {figures.requests:,} requests, {order}; goal {figures.goal}: {_GOALS[figures.goal]}"
    yield f"{figures.reusable_fraction:.2%} of {figures.input_tokens:,} input tokens could be reused with endless pools"
    if figures.binding is None:
        yield "Neither pool gains from another GiB"
    else:
        pool = "state" if figures.binding == "state" else "KV"
        yield (
            f"The {pool} pool binds: the next GiB saves {figures.state_tokens_per_gib:,} tokens as states, "
            f"{figures.kv_tokens_per_gib:,} as KV"
        )


def _rivals(rivals: tuple[TraceRival, ...]) -> str:
    rows = [
        (
            rival.name,
            _count(rival.state_slots),
            _count(rival.kv_tokens),
            _count(rival.recomputed_tokens),
            _regret(rival),
        )
        for rival in rivals
    ]
    return columns(("split", "slots", "KV tokens", "recomputed", "regret"), rows, right=(1, 2, 3))


def _regret(rival: TraceRival) -> str:
    if rival.regret_fraction is None:
        return rival.reason or "-"
    return f"{rival.regret_fraction:+.1%}" + (", requests wait" if rival.reason else "")


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _certainty(figures: TraceFigures) -> Iterator[str]:
    if figures.cliff_pool is not None:
        cost = "this order no longer fits"
        if figures.cliff_tokens is not None:
            cost = f"{figures.cliff_tokens:,} tokens more are recomputed"
        yield f"Cliff: with a slightly smaller {figures.cliff_pool} pool {cost}; the split stands on its safe side"
    if figures.scheduler_recomputed_tokens is None:
        yield f"Replayed in a fixed order {figures.replays} times; not by the scheduler: {figures.scheduler_reason}"
    else:
        yield (
            f"Replayed in a fixed order {figures.replays} times; the whole scheduler recomputes "
            f"{figures.scheduler_recomputed_tokens:,}"
        )


def _levers(levers: tuple[TraceLever, ...]) -> str:
    """Changes to the checkpoints kept, on top of the recommended flags."""
    rows = [
        (" ".join(lever.flags), _count(lever.recomputed_tokens), lever.reason or f"{lever.delta_tokens:+,}")
        for lever in levers
    ]
    return columns(("with it", "recomputed", "more or fewer"), rows, right=(1, 2))


def _what_if(cases: tuple[TraceWhatIf, ...]) -> str:
    rows = [
        (
            f"{case.sessions}",
            case.reason or _count(case.recomputed_tokens),
            _count(case.best_recomputed_tokens),
            "-" if case.best_state_slots is None else f"{case.best_state_slots:,} slots",
        )
        for case in cases
    ]
    return columns(("sessions", "recomputed with this split", "at the best split", "which has"), rows, right=(0, 2))
