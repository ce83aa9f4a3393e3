"""What a command line asks of a plan, and everything found for it.

These values are read and never compared; without generated comparisons a start is a few milliseconds shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poolsplit.planning.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.derivation import Step
    from poolsplit.engines.engine import Buffer, Changes, Deployment, Lever, Solution
    from poolsplit.plan_answer import ConstantsOrigin, RestOrigin
    from poolsplit.planning.trace_goal import Goal
    from poolsplit.workload.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WorkloadRequest:
    """What a command line says about the traffic."""

    context: str | None = None
    input: str | None = None
    output: str | None = None
    lengths: str | None = None
    """A file, `-`, or percentiles."""
    trace: str | None = None
    overflow: float | None = None
    concurrency: int | None = None
    concurrency_median: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SessionRequest:
    """What a command line says about kept sessions."""

    sessions: int | None = None
    session_tokens: str | None = None
    checkpoints_per_session: float | None = None
    margin: float | None = None

    @property
    def is_asked(self) -> bool:
        """Whether anything about sessions was said."""
        return any(
            value is not None
            for value in (self.sessions, self.session_tokens, self.checkpoints_per_session, self.margin)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PlanRequest:
    """What a command line asks of a plan."""

    launch: LaunchRequest
    workload: WorkloadRequest
    sessions: SessionRequest
    boot_log: str | None = None
    compare_version: str | None = None
    levers: bool = True
    pair: bool = False
    """Plan a prefill and a decode server together."""
    picture: bool = False
    """Add what a picture shows: the splits rank by rank, and requests at every ratio."""
    goal: Goal | None = None
    """What a trace's own replays decide the split for; None goes by lengths."""
    pace: Mapping[str, Any] = field(default_factory=dict)
    """The order of a trace's requests: mode, live_sessions and speeds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReuseFacts:
    """What decides how many checkpoints a session leaves, and the host tier that may keep them."""

    chunk_tokens: int
    """Prefill chunk: one checkpoint at the end of each."""
    states_per_path: int | None
    """Soft limit of one path; None without one or where the release has none."""
    host_ratio: float | None = None
    host_size_gb: float | None = None
    ranks_per_node: int = 1
    """Ranks that take their host copies from the same node's memory, or its control group's limit."""
    host_size_shared: bool = True
    """One size over both pools; the first release gives it to each."""
    strategy: str | None = None
    """Radix strategy, `off` without a radix cache; None where only a log's slots a request tell."""
    overlap: bool = True
    """Whether scheduling and forward passes overlap."""
    track_interval_tokens: int | None = None
    state_chunk_tokens: int | None = None
    """Tokens between two states of the model's recurrent kernel; None where only a log tells of the model."""


def unknown_reuse(changes: Changes) -> ReuseFacts:
    """Where the model or card is not known: the chunk of a large card."""
    del changes
    return ReuseFacts(chunk_tokens=8192, states_per_path=None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Prepared:
    """One deployment and where its figures come from."""

    deployment: Deployment
    model: str
    device: str
    version: str
    constants_origin: ConstantsOrigin
    rest_origin: RestOrigin
    rest_source: str
    rest_error_bytes: int = 0
    token_equiv_published: float | None = None
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    levers: Callable[[Changes], tuple[Lever, ...]] | None = None
    """What else could be changed, given what the plan changes; None where the model is not known."""
    buffers: Callable[[Solution, Changes], tuple[Buffer, ...]] | None = None
    """Memory allocated beside the reservation; None where the model is not known."""
    derive: Callable[[Solution, Changes], tuple[Step, ...]] | None = None
    """How the solver found the pools; None where the model is not known."""
    after_weights_gib: Callable[[int], tuple[float, ...]] | None = None
    """Free after the weights by number of stages; None where nothing tells."""
    launch_values: dict[str, object] = field(default_factory=dict)
    """What the launch asks for, by the engine's field names."""
    before_gib: float | None = None
    """Free before the weights."""
    reuse: Callable[[Changes], ReuseFacts] = unknown_reuse
    """What decides how many checkpoints a session leaves, and the host tier."""

    def asked(self, traffic: Traffic) -> Question:
        """The deployment under one traffic, as planning is asked about it."""
        return Question(deployment=self.deployment, traffic=traffic)
