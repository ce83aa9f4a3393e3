"""What planning is asked: one launch under one traffic, and flags that are changed in every answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from poolsplit.errors import LaunchRefusedError
from poolsplit.planning.outcome import Outcome, evaluate, outcome_of

if TYPE_CHECKING:
    from poolsplit.engines.engine import Changes, Deployment, Solution
    from poolsplit.workload.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Question:
    """One launch and one traffic; every answer is the launch solved again."""

    deployment: Deployment
    traffic: Traffic
    base: Changes = field(default_factory=dict)
    """Flags that are changed in every answer."""

    def under(self, traffic: Traffic) -> Question:
        """The same launch under another traffic."""
        return replace(self, traffic=traffic)

    def changed(self, changes: Changes) -> Question:
        """The same with more flags changed in every answer."""
        return replace(self, base={**self.base, **changes})

    def outcome(self, changes: Changes) -> Outcome:
        """What runs with some flags changed.

        Raises:
            LaunchRefusedError: The engine would refuse it.
        """
        return evaluate(self.deployment, self.traffic, {**self.base, **changes})

    def outcome_or_lacking(self, changes: Changes) -> Outcome | None:
        """What runs with some flags changed; None where a pool would be too small to start.

        Raises:
            LaunchRefusedError: The engine would refuse it for anything else.
        """
        everything = {**self.base, **changes}
        solution = solved_or_lacking(self.deployment, everything)
        return None if solution is None else outcome_of(solution, self.traffic, everything)


def solved_or_lacking(deployment: Deployment, changes: Changes) -> Solution | None:
    """The pools with some flags changed; None where one of them would be too small to start.

    Raises:
        LaunchRefusedError: The engine would refuse it for anything else.
    """
    try:
        return deployment.solve(changes)
    except LaunchRefusedError as refused:
        if deployment.lacks_state(refused) is None:
            raise
        return None
