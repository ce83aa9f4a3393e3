"""Option groups that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the answer goes and in which form."""

    json: Annotated[bool, Parameter(negative="")] = False
    """One JSON object instead of text."""
    explain: Annotated[bool, Parameter(negative="")] = False
    """Add the derivation: every step with value, unit and source."""
    output: Annotated[str | None, Parameter(name=["--output-file", "-o"])] = None
    """Write to this file instead of stdout; it is complete or not there at all."""
    no_color: Annotated[bool, Parameter(negative="")] = False
    """Plain text, as with the variable NO_COLOR."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    """No progress and no warnings on stderr."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions(OutputOptions):
    """Where the answer goes, and whether it is drawn, too."""

    html: str | None = None
    """Draw the answer in this `.html` file, whole and without a network; charts need the extra `ui`."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions:
    """The engine's release."""

    engine_version: str | None = None
    """Release whose rules answer, such as `0.5.20`."""
    compare_version: str | None = None
    """Another release: its answer to the same launch stands beside this one's."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareOptions:
    """The card, by name or by size and architecture, and one rank's memory around the weights."""

    gpu: str | None = None
    """Card by name, such as `h200`; `poolsplit gpus` lists them."""
    gpu_memory: str | None = None
    """Size of a card that is not listed, such as `141GiB`."""
    gpu_arch: str | None = None
    """Its architecture: sm80, sm89, sm90, sm100, sm103, sm120."""
    weights: str | None = None
    """Weights of one rank, such as `38GiB`, when nothing was measured."""
    free_before: str | None = None
    """Free on a card before the weights are loaded."""
    free_after: str | None = None
    """Free after them: one size, or one per pipeline stage, comma separated."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How to reach a live server. A key may also stand in POOLSPLIT_TOKEN."""

    token_file: str | None = None
    """File with the server's key, sent as a bearer token."""
    ca_file: str | None = None
    """Certificates to trust instead of the system's."""
    timeout: str = "10s"
    """Time for one whole answer."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """What the server is to serve: one way of giving lengths, and the concurrency that is wanted."""

    context: str | None = None
    """Mean tokens of one request, input and output: `9216`, `32k`."""
    input: str | None = None
    """Mean input tokens; goes with --output."""
    output: Annotated[str | None, Parameter(name="--output")] = None
    """Mean output tokens; goes with --input."""
    lengths: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A spread of lengths: a file (one total a line, or input,output), or `p50=2k,p90=32k,p99=128k`."""
    trace: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A request trace whose lengths are taken."""
    overflow: float | None = None
    """Accepted chance that the running requests overflow the KV pool (0.05); counts where lengths spread."""
    concurrency: int | None = None
    """Running requests wanted at the peak."""
    concurrency_median: int | None = None
    """Running requests in the middle of the day: what occupancy and kept sessions are also told for."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Sessions whose prefixes are to be kept."""

    sessions: int | None = None
    """Sessions kept at a time."""
    session_tokens: str | None = None
    """Tokens that one kept session holds."""
    checkpoints_per_session: float | None = None
    """State checkpoints of one kept session; derived from the chunk size without it."""
    margin: float | None = None
    """Slots and tokens on top, as a fraction."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TraceGoalOptions:
    """A split that follows from the requests of --trace, replayed at every split in question."""

    goal: Literal["recompute", "concurrency", "balanced"] | None = None
    """Fewest recomputed tokens with --concurrency running; most running; or nearly as many and fewest recomputed."""
    trace_mode: Literal["order", "closed", "recorded"] | None = None
    """Requests as they stand (order), by sessions that wait for their answers, or at recorded times."""
    live_sessions: int | None = None
    """Sessions open at a time (closed), or requests outstanding (order)."""
    prefill_tokens_per_s: float | None = None
    """How fast a prompt is read; with the other speed it replaces recorded durations. The scheduler needs both."""
    decode_tokens_per_s: float | None = None
    """How fast an answer is written."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficOptions:
    """What is to be served and kept."""

    workload: WorkloadOptions = WorkloadOptions()
    sessions: SessionOptions = SessionOptions()
    replayed: TraceGoalOptions = TraceGoalOptions()
