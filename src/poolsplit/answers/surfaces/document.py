"""A surface as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from poolsplit.answers.surfaces.confirm import scheduler_pace, scheduler_prefers
from poolsplit.answers.surfaces.rivals import same_split

if TYPE_CHECKING:
    from poolsplit.answers.surfaces.answer import LineAnswer, SurfaceAnswer
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.surface.cells import Split


def surface_document(answer: SurfaceAnswer) -> dict[str, Any]:
    """Everything that is known, with the method and the error of each cell."""
    ground, surface, line = answer.ground, answer.surface, answer.line
    return {
        "command": "surface",
        "engine": {"name": ground.config.rules.engine, "version": ground.config.rules.version},
        "requests": len(ground.tree),
        "input_tokens": surface.input_tokens,
        "reusable_fraction": ground.endless.cached_tokens / max(1, surface.input_tokens),
        "order": _order(ground),
        "state_slots": list(surface.state_slots),
        "kv_tokens": list(surface.kv_tokens),
        "cached_tokens": [list(row) for row in surface.cached_tokens],
        "method": [list(row) for row in surface.method],
        "errors": [asdict(e) for e in (*answer.picture_errors, *surface.errors)],
        "worst_error": _worst(answer),
        "best": None if line is None else _best(answer, line),
        **({"best_reason": "no budget was given"} if line is None else {}),
        "default": None if line is None else {"state_to_kv_ratio": 0.9, **_rival(answer, line, line.default)},
        **({} if line is None or line.current is None else {"current": _current(answer, line, line.current)}),
        "gradient": None if line is None else {f"{axis}_tokens_per_gib": n for axis, n in line.gained_per_gib.items()},
        "line": [] if line is None else _line(ground, line),
        "held_by_running": _held(ground),
        "confirmed": [_confirmed(ground, c) for c in answer.confirmed],
        "replays": len(ground.replays.known),
        "warnings": warnings_of(answer),
        "derivation": _steps(answer),
    }


def _order(ground: Ground) -> dict[str, Any]:
    timing = ground.timing
    return {
        "mode": timing.mode,
        "sessions": timing.sessions,
        "outstanding": timing.outstanding if timing.mode == "order" else None,
        "longest_think_s": timing.longest_think_s,
    }


def _worst(answer: SurfaceAnswer) -> dict[str, Any] | None:
    errors = [e for e in answer.surface.errors if e.method == "marginals"]
    if not errors:
        return None
    worst = max(errors, key=lambda e: abs(e.error_tokens))
    return {**asdict(worst), "error_fraction": worst.error_tokens / max(1, answer.surface.input_tokens)}


def _best(answer: SurfaceAnswer, line: LineAnswer) -> dict[str, Any]:
    total = answer.surface.input_tokens
    by_scheduler = _by_scheduler(answer, line.best)
    recomputed = line.recomputed_tokens if by_scheduler is None else by_scheduler
    return {
        **_split(answer.ground, line.best),
        "recomputed_tokens": recomputed,
        "state_bytes_fraction": _share(line, line.best),
        "cached_fraction": (total - recomputed) / max(1, total),
        "method": "replay" if by_scheduler is None else "scheduler",
        "least_recomputed_tokens": line.least_recomputed_tokens,
        "cliff": None
        if line.cliff_side is None
        else {"pool": line.cliff_side, "recomputed_tokens_more": line.cliff_tokens},
        "feasible_splits": len(line.splits),
    }


def _share(line: LineAnswer, split: Split) -> float:
    return (split.state_slots + line.budget.padding_slots) * line.budget.state_bytes / line.budget.total_bytes


def _by_scheduler(answer: SurfaceAnswer, split: Split) -> int | None:
    """Recomputed tokens of a split that the scheduler served."""
    cached = (c.cached_tokens for c in answer.confirmed if c.split == split and c.cached_tokens is not None)
    return next((answer.ground.input_tokens - n for n in cached), None)


def _rival(answer: SurfaceAnswer, line: LineAnswer, split: Split) -> dict[str, Any]:
    """A split against the recommended one, both by the scheduler where it served both, else both by the replay."""
    found = _split(answer.ground, split)
    there, here = _by_scheduler(answer, split), _by_scheduler(answer, line.best)
    both = found["recomputed_tokens"] is not None and there is not None and here is not None
    lost, best = (there, here) if both else (found["recomputed_tokens"], line.recomputed_tokens)
    return {
        **found,
        "recomputed_tokens": lost,
        "regret_fraction": None if lost is None else lost / max(1, best or 0) - 1,
        "method": "scheduler" if both else "replay",
    }


def _current(answer: SurfaceAnswer, line: LineAnswer, split: Split) -> dict[str, Any]:
    return {
        **_rival(answer, line, split),
        "equals_default": same_split(line.budget, split, line.default),
        "within_budget": line.budget.bytes_of(split) <= line.budget.total_bytes,
    }


def _split(ground: Ground, split: Split) -> dict[str, Any]:
    outcome = ground.replays.one(split)
    return {
        "state_slots": split.state_slots,
        "kv_tokens": split.kv_tokens,
        "recomputed_tokens": ground.input_tokens - outcome.cached_tokens if outcome.fits else None,
        **(
            {}
            if outcome.fits
            else {"recomputed_tokens_reason": f"what runs at once does not fit the {outcome.out_of} pool"}
        ),
        "running_requests_cap": split.state_slots // ground.config.slots_per_request,
    }


def _line(ground: Ground, line: LineAnswer) -> list[dict[str, Any]]:
    known = [s for s in line.splits if s in ground.replays.known]
    return [{**_split(ground, s), "state_bytes_fraction": _share(line, s)} for s in known]


def _held(ground: Ground) -> dict[str, Any]:
    held = asdict(ground.held)
    slots = ground.config.tracking_slots + 2
    """Active, tracking and the locked checkpoint."""
    return {**held, "slots_mean": held["running_mean"] * slots, "slots_p95": held["running_p95"] * slots}


def _confirmed(ground: Ground, found: Any) -> dict[str, Any]:
    total = ground.input_tokens
    return {
        "role": found.role,
        "state_slots": found.split.state_slots,
        "kv_tokens": found.split.kv_tokens,
        "ordered_recomputed_tokens": total - found.ordered.cached_tokens if found.ordered.fits else None,
        "scheduler_recomputed_tokens": None if found.cached_tokens is None else total - found.cached_tokens,
        "reason": found.reason,
        "running_mean": found.running_mean,
        "running_max": found.running_max,
        "retractions": found.retractions,
    }


def warnings_of(answer: SurfaceAnswer) -> list[str]:
    """What a reader of the figures should know."""
    ground, found = answer.ground, list(answer.ground.trace.origin.notes)
    if all(m == "pass" for row in answer.surface.method for m in row):
        found.append("this is the instant picture: optimistic, and wrong below a cliff")
    if ground.config.rules.evidence != "run":
        found.append(f"the cache law of {ground.config.rules.version} is not verified against the engine")
    _, reason = scheduler_pace(ground)
    if answer.line is not None and not answer.confirmed:
        found.append(f"not confirmed by the scheduler: {reason or 'not asked for'}")
    if any(c.role == "searched" for c in answer.confirmed):
        found.append("the scheduler has another best split than the replay: the scheduler's is recommended")
    rival = scheduler_prefers(ground, answer.confirmed)
    return found if rival is None else [*found, rival]


def _steps(answer: SurfaceAnswer) -> list[dict[str, Any]]:
    ground = answer.ground
    law = f"cache law of {ground.config.rules.engine} {ground.config.rules.version} ({ground.config.rules.evidence})"
    steps: list[tuple[str, Any, str, str]] = [
        ("input_tokens", ground.input_tokens, "tokens", "whole prompts of the trace"),
        ("endless_cached_tokens", ground.endless.cached_tokens, "tokens", f"ordered replay, pools endless; {law}"),
        ("least_state_slots", answer.surface.state_slots[0], "slots", "bisected replays, KV endless"),
        ("least_kv_tokens", answer.surface.kv_tokens[0], "tokens", "bisected replays, states endless"),
    ]
    for axis, curve in (answer.curves or {}).items():
        steps.append(
            (f"{axis}_marginal_replays", len(curve.sizes), "replays", "largest step of the logarithm bisected")
        )
    if answer.line is not None:
        steps.append(("line_replays", answer.line.replays, "replays", "pattern search at steps of 8, 4, 2 and 1 %"))
        steps.append(
            ("best_state_slots", answer.line.best.state_slots, "slots", "fewest recomputed tokens on the line")
        )
    return [dict(zip(("name", "value", "unit", "source"), step, strict=True)) for step in steps]
