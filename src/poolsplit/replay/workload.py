"""What is replayed and what comes out: requests as runs of token ids, and one record of decisions a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from poolsplit.errors import InputError

Run = tuple[int, int]
"""A first token id and a count: `(s, n)` stands for s, s + 1, ... s + n - 1."""
Mode = Literal["sequential", "closed", "arrivals"]
MODES: tuple[Mode, ...] = ("sequential", "closed", "arrivals")

END_OF_SEQUENCE = (1 << 31) - 1
"""Token id that stands for the stop token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request with the output that it is going to produce."""

    id: str
    prompt: tuple[Run, ...]
    """Input token ids."""
    output: tuple[Run, ...]
    """Output token ids; with `stops` the last of them is replaced by the stop token."""
    stops: bool = False
    """Ends with a stop token instead of its length limit."""
    max_new: int | None = None
    """Length limit asked for; without `stops` it is the length of the output."""
    ignores_stop: bool = False
    """The stop token does not end it, and admission reserves its whole output."""
    arrival_step: int = 0
    """Scheduler iteration at which it arrives (mode `arrivals`)."""

    def __post_init__(self) -> None:
        if self.prompt_tokens < 1 or self.output_tokens < 1:
            raise InputError(
                f"request `{self.id}` has no input or no output tokens", hint="every request has at least one of each"
            )
        if any(count < 1 for _, count in (*self.prompt, *self.output)):
            raise InputError(f"request `{self.id}` has an empty run of tokens", hint="a run is a first id and a count")

    @property
    def prompt_tokens(self) -> int:
        """Length of the input."""
        return sum(count for _, count in self.prompt)

    @property
    def output_tokens(self) -> int:
        """Length of the output."""
        return sum(count for _, count in self.output)

    @property
    def asked_tokens(self) -> int:
        """Length limit as the server receives it."""
        if not self.stops:
            return self.output_tokens
        return self.max_new or self.output_tokens * 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Requests and how they are sent."""

    requests: tuple[Request, ...]
    mode: Mode = "sequential"
    concurrency: int | None = None
    """Most requests outstanding at once (mode `closed`)."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"the mode `{self.mode}` is not known", hint=f"known are {', '.join(MODES)}")
        if self.mode == "closed" and (self.concurrency or 0) < 1:
            raise InputError("a closed loop needs a number of outstanding requests", hint="give `concurrency`")

    @property
    def outstanding_cap(self) -> int:
        """Most requests outstanding at once."""
        if self.mode == "sequential":
            return 1
        return self.concurrency or max(1, len(self.requests))


@dataclass(slots=True, kw_only=True)
class Admission:
    """One time that a request was taken from the queue, with the prefill chunks that followed."""

    step: int
    """Forward steps run before it."""
    prefix: int
    """Tokens reused."""
    branch: int | None
    """Branching position that the lookup reported."""
    chunks: list[tuple[int, int]] = field(default_factory=list)
    """Prefill chunks, start and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Both pools at one moment: free + evictable + protected + private = capacity."""

    kv_free: int
    kv_evictable: int
    kv_protected: int
    state_free: int
    state_evictable: int
    state_protected: int
    host_kv_free: int | None = None
    """Free rows and states of the host tier; None without one."""
    host_state_free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTraffic:
    """What went between device and host in one replay."""

    copied_tokens: int
    copied_states: int
    loaded_tokens: int
    loaded_states: int


Outcome = Literal["done", "rejected", "stuck", "not_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The decisions about one request."""

    id: str
    prompt_tokens: int
    outcome: Outcome
    """`stuck`: it can never be admitted and blocks the queue; `not_run`: it stood behind one that was."""
    output_tokens: int = 0
    admissions: tuple[Admission, ...] = ()
    retractions: int = 0
    aborted: bool = False
    done_step: int = 0
    """Scheduler iteration that it finished in."""
    kv_evicted: int = 0
    """KV tokens evicted between its submission and its end, whoever caused it."""
    states_evicted: int = 0
    cap_states_evicted: int = 0
    """States that the cap on a path dropped in that span."""
    occupancy: Occupancy | None = None
    """Both pools at the end of that iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """One KV span or state that left the tree."""

    kind: Literal["kv", "state"]
    depth: int
    """Tokens from the root to the end of the node."""
    length: int
    """Tokens of the node."""
    last_token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """Every decision of one replay."""

    records: tuple[Record, ...]
    freed: tuple[Freed, ...] | None = None
    """In order; None when it was not asked for."""
    steps: int = 0
    """Forward steps."""
    traffic: HostTraffic | None = None
    """None without a host tier."""
