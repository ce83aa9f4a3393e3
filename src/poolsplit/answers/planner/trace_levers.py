"""What chunk size, track interval and the limit a path do to the tokens reused: each replayed on the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.answers.planner.trace_server import server_of
from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.errors import InputError, LaunchRefusedError
from poolsplit.plan_answer import TraceLever
from poolsplit.surface.cells import Split

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.answers.surfaces.ground import Ground
    from poolsplit.engines.engine import Lever
    from poolsplit.planning.outcome import Outcome
    from poolsplit.workload.traffic import Traffic

REPLAYED = frozenset({"larger_prefill_chunk", "longer_track_interval", "states_per_path"})
"""Levers that leave the pools about as they are and change which states are kept in them."""


def levers_on_trace(prepared: Prepared, traffic: Traffic, ground: Ground, best: Outcome) -> tuple[TraceLever, ...]:
    """Those levers on top of the recommended flags, fewest recomputed tokens first, those without figures last."""
    if prepared.levers is None:
        return ()
    here = int(ground.replays.recomputed(_split(best)))
    found = [
        _replayed(prepared, traffic, ground, best, lever, here)
        for lever in prepared.levers(best.changes)
        if lever.name in REPLAYED and not lever.stops
    ]
    return tuple(
        sorted(found, key=lambda lever: (lever.recomputed_tokens is None, lever.recomputed_tokens or 0, lever.name))
    )


def _replayed(
    prepared: Prepared, traffic: Traffic, ground: Ground, best: Outcome, lever: Lever, here: int
) -> TraceLever:
    changes = {**best.changes, **lever.changes}
    flags = prepared.deployment.flag_words(lever.changes)
    try:
        outcome = prepared.asked(traffic).outcome(changes)
        other = ground_of(
            ground.trace,
            version=prepared.version,
            server=server_of(prepared, outcome.solution, changes),
            timing=ground.timing,
        )
    except (LaunchRefusedError, InputError) as refused:
        return TraceLever(name=lever.name, flags=flags, reason=refused.message)
    split = _split(outcome)
    result = other.replays.one(split)
    if not result.fits:
        return TraceLever(
            name=lever.name, flags=flags, reason=f"what runs at once does not fit its {result.out_of} pool"
        )
    recomputed = int(other.replays.recomputed(split))
    return TraceLever(name=lever.name, flags=flags, recomputed_tokens=recomputed, delta_tokens=recomputed - here)


def _split(outcome: Outcome) -> Split:
    pools = outcome.solution.pools
    return Split(state_slots=pools.state_slots or 0, kv_tokens=pools.logical_tokens)
