"""Traces to try things on: made, not shipped, so that a command line makes the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One made trace."""

    title: str
    preset: str
    requests: int
    seed: int = 1

    @property
    def command(self) -> str:
        """What makes it on a command line."""
        return f"poolsplit trace synth {self.preset} --requests {self.requests} --seed {self.seed} -o {self.preset}.pst"


SAMPLES = {
    "chat": Sample(title="Chat: short turns, shared system prompts", preset="chat", requests=2000),
    "agent": Sample(title="Coding agents: long sessions that grow", preset="agent", requests=2000),
    "rag": Sample(title="Documents: long prompts, some of them again", preset="rag", requests=2000),
    "mixed": Sample(title="All of these at once", preset="mixed", requests=2000),
}


def sample_trace(name: str) -> Trace:
    """One sample.

    Raises:
        UsageError: There is none of this name.
    """
    from poolsplit.traces.synthetic import synthesise

    sample = SAMPLES.get(name)
    if sample is None:
        raise UsageError(f"there is no sample `{name}`", hint=f"the samples are {', '.join(SAMPLES)}")
    return synthesise(sample.preset, seed=sample.seed, parameters={"requests": str(sample.requests)})[0]
