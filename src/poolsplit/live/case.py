"""What a finding rule sees of one server, and the thresholds that the rules share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolsplit.live.constants import PoolSizes, fit_split

if TYPE_CHECKING:
    from poolsplit.engines.live_reading import Advice, PoolUse
    from poolsplit.live.constants import Fit, PoolConstants
    from poolsplit.live.expected import Expected
    from poolsplit.live.sample import LiveSample
    from poolsplit.live.window import WindowView

IDLE_FRACTION = 0.5
"""A pool is idle when less than this is in use while requests wait for the other one."""
NEARLY_FULL_FRACTION = 0.95
CLEARLY_LESS = 0.5
"""Reuse below this share of what is possible counts as lost."""
ENOUGH_REUSE = 0.10
"""Possible reuse below this is not worth a finding."""
STORM_FRACTION = 0.10
"""Retractions over finished requests."""
ENOUGH_TOKENS = 10_000
"""Prompt tokens in the window before a share of them counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One server's window with what was expected of it."""

    view: WindowView
    advice: Advice
    expected: Expected | None = None
    reuse_limit: float | None = None
    """Share of the prompt tokens that repeats of the traffic allow, as given."""

    @property
    def sample(self) -> LiveSample:
        """The newest look."""
        return self.view.last

    @property
    def state(self) -> PoolUse | None:
        """The state pool of the tightest rank."""
        rank = self.sample.tightest_state
        return rank.state if rank else None

    @property
    def kv(self) -> PoolUse | None:
        """The KV pool of the tightest rank."""
        rank = self.sample.tightest_kv
        return rank.kv if rank else None

    @property
    def pools_are_apart(self) -> bool:
        """Whether two fixed pools are served from: usage under one shared buffer means something else."""
        return not (self.sample.facts and self.sample.facts.unified_memory)

    @property
    def constants(self) -> PoolConstants | None:
        """Byte constants, from a plan or the model."""
        return self.expected.constants if self.expected else None

    @property
    def slots_per_request(self) -> int | None:
        """Slots that a running request reserves."""
        facts = self.sample.facts
        if facts and facts.slots_per_request:
            return facts.slots_per_request
        return self.constants.slots_per_request if self.constants else None

    @property
    def granted(self) -> int | None:
        """Requests that one worker admits."""
        facts = self.sample.facts
        return min(facts.granted_per_worker, default=None) if facts else None

    @property
    def sizes(self) -> PoolSizes | None:
        """Both pools of one rank and the request limit, as measured."""
        state, facts = self.state, self.sample.facts
        tokens = self.sample.kv_tokens or (facts.kv_tokens if facts else None)
        slots = state.capacity if state else (facts.state_slots if facts else None)
        if not slots or not tokens or not self.pools_are_apart:
            return None
        return PoolSizes(state_slots=slots, kv_tokens=tokens, granted=self.granted)

    @property
    def fit(self) -> Fit | None:
        """The split that the measured mean request asks for; None without constants or a mean."""
        sizes, length = self.sizes, self.view.mean_request_tokens
        return fit_split(self.constants, sizes, length) if self.constants and sizes and length else None

    @property
    def load(self) -> str:
        """Queued and running requests, for people."""
        queued, running = (
            ("-" if count is None else f"{count}") for count in (self.sample.queued, self.sample.running)
        )
        return f"{queued} queued, {running} running"

    def fit_flags(self, *, towards: Literal["state", "kv"] | None = None) -> tuple[str, ...]:
        """The flag of the fitting ratio, when there is one that gives the pool `towards` more than it has."""
        fit, sizes, constants = self.fit, self.sizes, self.constants
        if fit is None or sizes is None or constants is None:
            return ()
        more = {
            "state": fit.state_slots > sizes.state_slots,
            "kv": fit.kv_tokens > sizes.kv_tokens * constants.dcp_size,
        }
        return (f"{self.advice.ratio} {fit.state_to_kv_ratio:.4f}",) if towards is None or more[towards] else ()

    def fewer_slots_flags(self) -> tuple[str, ...]:
        """Flags that lower the slots of a request, where that is possible."""
        return self.advice.fewer_slots if (self.slots_per_request or 0) > self.advice.fewest_slots else ()


def percent(fraction: float | None) -> str:
    """A share for people; `-` when unknown."""
    return "-" if fraction is None else f"{fraction:.0%}"
