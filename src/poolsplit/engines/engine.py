"""What an engine offers to planning, whatever its flags are called.

A `Deployment` is one launch on one card with known free memory. It can be solved again with some flags changed, and it
can say what those changes look like on its command line. Planning never reads a flag's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.errors import LaunchRefusedError

Changes = Mapping[str, Any]
"""Flags to set, by the engine's own field name; None takes a flag away; an all-capitals name is a variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """One deployment solved: its pools, and the resolved arguments that a plan reads."""

    pools: ResolvedPools
    request_cap: int | None
    """Asked-for running requests of one worker after defaults; None when nothing was asked."""
    workers: int
    """Data-parallel replicas, each with pools of its own."""
    dcp_size: int
    """Ranks that share the tokens of one request."""
    page_tokens: int
    state_to_kv_ratio: float
    pinned_slots: int | None
    """Slots asked for outright, over all workers."""
    ratio_counts: bool
    """Whether the ratio decided the slots; a pin or a request count may."""
    charged_slots: int
    """Slots that the solver charged, padding included."""
    ratio_budget_bytes: float
    """What a ratio would have to give the state side for these slots, on one rank."""
    balance_draft_states: int
    """Draft states that the closed form charges a request; 0 where verification takes no scratch by the slot."""
    memory_fraction: float
    held_slots_per_request: float | None = None
    """Slots that a running request was measured to hold; None where nobody has measured it."""
    window_tokens_per_request: int | None = None
    """Rows of the window pool that one long request holds; None without a window pool."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One thing that could be changed, before it is priced."""

    name: str
    changes: Changes
    risk: str
    """What it costs besides memory: accuracy, speed, platform."""
    topic: str = ""
    """Name in the table of known faults."""
    needs_spare: bool = False
    """Slots for exactly the running requests crash: one more a worker is kept."""
    raises_cap: bool = False
    """Asks for as many requests as the pools then run."""
    stops: str = ""
    """Why the model would stop its server while it loads with it; empty where it would not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Memory of one kind that the engine allocates on one rank, and what it reserved for it."""

    name: str
    bytes: int
    reserved_bytes: int
    note: str = field(default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is known of a launch before its pools are solved."""

    slots_per_request: int
    workers: int


class Deployment(Protocol):
    """A launch that can be solved again."""

    def layout(self, changes: Changes) -> Layout:
        """Slots per request and replicas with some flags changed.

        Raises:
            LaunchRefusedError: The engine would refuse the launch before it sizes anything.
        """
        ...

    def solve(self, changes: Changes) -> Solution:
        """The pools with some flags changed.

        Raises:
            LaunchRefusedError: The engine would refuse the launch.
        """
        ...

    def ratio_changes(self, ratio: float) -> Changes:
        """Flags that set the split by ratio."""
        ...

    def pin_changes(self, slots: int) -> Changes:
        """Flags that set the state slots outright, over all workers."""
        ...

    def request_cap_changes(self, requests: int) -> Changes:
        """Flags that ask for this many running requests, over all workers."""
        ...

    def lacks_state(self, refused: LaunchRefusedError) -> bool | None:
        """Whether a refusal says that the state pool is too small (True) or the KV pool (False); None: neither."""
        ...

    def flag_words(self, changes: Changes) -> tuple[str, ...]:
        """The changes as words of the command line, one flag with its value a word."""
        ...

    def removed_words(self, changes: Changes) -> tuple[str, ...]:
        """Flags that the changes take away from the launch."""
        ...

    def command(self, changes: Changes) -> str:
        """The launch command with only these changes made."""
        ...
