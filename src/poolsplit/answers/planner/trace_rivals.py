"""The split that a trace recommends beside today's flags, the default and the closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.surfaces.confirm import confirm_split
from poolsplit.engines.sglang.rules.families import DEFAULT_STATE_TO_KV_RATIO
from poolsplit.errors import LaunchRefusedError
from poolsplit.plan_answer import TraceRival
from poolsplit.surface.cells import Split

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.engines.engine import Solution
    from poolsplit.planning.choose import Choice
    from poolsplit.planning.outcome import Outcome
    from poolsplit.workload.traffic import Traffic


def split_of(solution: Solution) -> Split:
    """Sizes of both pools, as a replay takes them."""
    return Split(state_slots=solution.pools.state_slots or 0, kv_tokens=solution.pools.logical_tokens)


def rivals_of(
    prepared: Prepared, traffic: Traffic, choice: Choice, ground: Ground, best: Outcome
) -> tuple[TraceRival, ...]:
    """The recommended split beside today's flags, the default and the closed form."""
    found = [("recommended", best), ("current", choice.current), ("closed form", choice.formula)]
    try:
        default = prepared.asked(traffic).outcome(prepared.deployment.ratio_changes(DEFAULT_STATE_TO_KV_RATIO))
    except LaunchRefusedError:
        default = None
    found.append(("default 0.9", default))
    known: dict[Split, TraceRival] = {}
    rivals = []
    for name, outcome in found:
        rival = None if outcome is None else known.get(split_of(outcome.solution))
        if rival is None:
            rival = _rival(ground, name, outcome, split_of(best.solution))
        if outcome is not None:
            known[split_of(outcome.solution)] = rival
        rivals.append(replace(rival, name=name))
    return tuple(rivals)


def _rival(ground: Ground, name: str, outcome: Outcome | None, best: Split) -> TraceRival:
    if outcome is None:
        return TraceRival(name=name, reason="the server would not start with it")
    split = split_of(outcome.solution)
    result = ground.replays.one(split)
    sizes: dict[str, Any] = {"name": name, "state_slots": split.state_slots, "kv_tokens": split.kv_tokens}
    if not result.fits:
        return _waiting_rival(ground, sizes, split, best)
    recomputed = int(ground.replays.recomputed(split))
    return TraceRival(
        **sizes,
        recomputed_tokens=recomputed,
        cached_fraction=1 - recomputed / max(1, ground.input_tokens),
        regret_fraction=recomputed / max(1.0, ground.replays.recomputed(best)) - 1,
        running_requests=outcome.running_requests,
    )


def _waiting_rival(ground: Ground, sizes: dict[str, Any], split: Split, best: Split) -> TraceRival:
    """A split in which what runs at once does not fit: requests wait there, as only the scheduler can tell."""
    reason = f"what runs at once does not fit its {ground.replays.one(split).out_of} pool"
    there, here = confirm_split(ground, split), confirm_split(ground, best)
    if there is None or here is None or there.cached_tokens is None or here.cached_tokens is None:
        return TraceRival(**sizes, reason=reason)
    recomputed = ground.input_tokens - there.cached_tokens
    return TraceRival(
        **sizes,
        recomputed_tokens=recomputed,
        cached_fraction=there.cached_tokens / max(1, ground.input_tokens),
        regret_fraction=recomputed / max(1, ground.input_tokens - here.cached_tokens) - 1,
        reason=f"{reason}: by the scheduler, with requests waiting",
    )
