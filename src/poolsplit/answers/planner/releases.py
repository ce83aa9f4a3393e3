"""The same flags under another release's rules, and what an upgrade takes away unseen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.planner.headroom import LEAST_FREE_BYTES, free_bytes
from poolsplit.errors import InputError, LaunchRefusedError
from poolsplit.plan_beside import ReleaseFigures
from poolsplit.planning.figures import split_figures
from poolsplit.planning.headroom import free_after_pools_bytes
from poolsplit.planning.outcome import Outcome, evaluate
from poolsplit.units import GIB, format_size

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.engines.sglang.deployment import SglangDeployment
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.plan_answer import PlanAnswer, SplitFigures
    from poolsplit.workload.traffic import Traffic


def compare_release(answer: PlanAnswer, prepared: Prepared, traffic: Traffic, version: str) -> ReleaseFigures:
    """The launch as it stands under another release's rules.

    Raises:
        InputError: The model's shape is not known, so rules cannot be compared.
    """
    deployment = _sglang(prepared)
    other = replace(deployment, switches=_other_switches(version), _resolved={})
    try:
        outcome: Outcome | None = evaluate(other, traffic, {})
        refused = None
    except LaunchRefusedError as error:
        outcome, refused = None, str(error)
    now = answer.current
    free = None if outcome is None else _free_under(prepared, other, outcome)
    here = _free_here(prepared, traffic)
    delta_free = None if free is None or here is None else here - free
    figures = None if outcome is None else split_figures(outcome, other, flags=())
    keep = _keep_flags(prepared, other, figures, answer, delta_free)
    both = figures is not None and now is not None
    return ReleaseFigures(
        version=version,
        figures=figures,
        refused=refused,
        delta_slots=(now.state_slots or 0) - (figures.state_slots or 0) if both and now and figures else None,
        delta_requests=now.running_requests - figures.running_requests if both and now and figures else None,
        delta_kv_tokens=now.kv_tokens - figures.kv_tokens if both and now and figures else None,
        free_after_pools_bytes=free,
        delta_free_bytes=delta_free,
        keep_flags=keep,
        text=_release_text(version, answer, figures, refused, delta_free)
        + (f"; {other.switches.warning}" if other.switches.warning else ""),
    )


def _other_switches(version: str) -> Switches:
    from poolsplit.engines.sglang.versions import switches_for

    try:
        return switches_for(version)
    except InputError as error:
        raise InputError(error.message, where="--compare-version", hint=error.hint) from None


def _sglang(prepared: Prepared) -> SglangDeployment:
    from poolsplit.engines.sglang.deployment import SglangDeployment

    if not isinstance(prepared.deployment, SglangDeployment):
        raise InputError(
            "releases are compared by a model's own sizes, and the log does not name a known model",
            hint="name the model and its card beside the log",
        )
    return prepared.deployment


def _free_under(prepared: Prepared, other: SglangDeployment, outcome: Outcome) -> int | None:
    from poolsplit.engines.sglang.headroom import buffers_beside

    if prepared.after_weights_gib is None:
        return None
    buffers = buffers_beside(other.shape, other.flags, other.resolve({}), outcome.solution.pools, other.switches)
    after = [int(gib * GIB) for gib in prepared.after_weights_gib(len(outcome.solution.pools.stages))]
    return free_after_pools_bytes(outcome.solution, after, buffers)


def _free_here(prepared: Prepared, traffic: Traffic) -> int | None:
    try:
        outcome = prepared.asked(traffic).outcome({})
    except LaunchRefusedError:
        return None
    return free_bytes(prepared, outcome.solution, {})


def _keep_flags(
    prepared: Prepared,
    other: SglangDeployment,
    figures: SplitFigures | None,
    answer: PlanAnswer,
    delta_free: int | None,
) -> tuple[str, ...]:
    """What holds the pools where the roomier release has them, under the one that hands its headroom to the pools.

    That is the old counts, or the fraction less what goes to the pools. A token count alone leaves a grown state pool
    as it is, so its slots are said beside it.
    """
    now = answer.current
    if figures is None or now is None or delta_free is None or abs(delta_free) < LEAST_FREE_BYTES:
        return ()
    here = delta_free < 0
    deployment = prepared.deployment if here else other
    held, grown = (figures, now) if here else (now, figures)
    counts: dict[str, Any] = {"max_total_tokens": held.kv_tokens // answer.constants.dcp_size}
    if (grown.state_slots or 0) > (held.state_slots or 0) > 0:
        counts = {**deployment.pin_changes((held.state_slots or 0) * answer.constants.workers), **counts}
    flags: tuple[str, ...] = (" ".join(deployment.flag_words(counts)),)
    if prepared.before_gib:
        less = abs(delta_free) / GIB / prepared.before_gib
        lower = math.floor(1000 * max(0.01, deployment.solve({}).memory_fraction - less)) / 1000
        flags = (*flags, *deployment.flag_words({"mem_fraction_static": lower}))
    return flags


def _release_text(
    version: str, answer: PlanAnswer, figures: SplitFigures | None, refused: str | None, delta_free: int | None
) -> str:
    now = answer.current
    if figures is None or now is None:
        return f"under {version} the launch is refused: {refused}" if refused else f"only {version} starts this launch"
    text = (
        f"{version}: {figures.state_slots:,} slots, {figures.running_requests:,} requests, "
        f"{figures.kv_tokens:,} tokens; "
        f"{answer.version}: {now.state_slots:,} slots, {now.running_requests:,} requests, {now.kv_tokens:,} tokens"
    )
    if delta_free is None or abs(delta_free) < LEAST_FREE_BYTES:
        return text
    roomy, tight = (version, answer.version) if delta_free < 0 else (answer.version, version)
    return (
        f"{text}; {format_size(abs(delta_free))} that {roomy} charges and never uses are headroom there and hold pools "
        f"in {tight}: a fraction tuned for {roomy} may fail to start under {tight}"
    )
