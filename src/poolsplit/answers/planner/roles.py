"""A prefill and a decode server planned together, each with its own length and rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from poolsplit.errors import UsageError
from poolsplit.plan_beside import RoleFigures
from poolsplit.planning.choose import choose
from poolsplit.planning.figures import split_figures
from poolsplit.workload.lengths import single_length

if TYPE_CHECKING:
    from poolsplit.answers.planner.requests import Prepared
    from poolsplit.workload.traffic import Traffic


def pair_of_roles(prepared: Prepared, traffic: Traffic) -> tuple[RoleFigures, ...]:
    """A prefill and a decode server, each with its own length and rules.

    Raises:
        UsageError: Input and output are not known apart.
    """
    tokens_in = traffic.lengths.input_tokens_mean
    if tokens_in is None:
        raise UsageError("a pair needs input and output apart", hint="give --input N --output N")
    return (
        _role(prepared, replace(traffic, lengths=single_length(round(tokens_in))), "prefill"),
        _role(prepared, traffic, "decode"),
    )


def _role(prepared: Prepared, traffic: Traffic, role: Literal["prefill", "decode"]) -> RoleFigures:
    deployment = prepared.deployment
    base = {"disaggregation_mode": role}
    choice = choose(prepared.asked(traffic).changed(base))
    best = choice.recommended
    return RoleFigures(
        role=role,
        tokens=traffic.mean_tokens,
        current=None if choice.current is None else split_figures(choice.current, deployment),
        recommended=split_figures(best, deployment),
        launch_command=deployment.command({**base, **best.changes}),
    )
