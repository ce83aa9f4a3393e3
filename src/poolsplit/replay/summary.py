"""What a replay of a trace adds up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from poolsplit.replay.kernel.answers import read_traffic
from poolsplit.replay.kernel.layout import ABORTED, DONE, REJECTED

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.kernel.layout import Records, World
    from poolsplit.replay.workload import HostTraffic

Bound = Literal["state", "kv", "concurrency", "nothing"]
LOSS_THAT_COUNTS = 0.01
"""Share of the input tokens from which lost reuse decides what binds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Reuse that was possible once and did not happen, by what it was lost to, in input tokens."""

    to_state: int
    """The state had been evicted, alone or with its leaf."""
    to_kv: int
    """The KV had been evicted."""
    to_placement: int
    """KV was cached, but no state was ever kept at a place that could be reused."""
    to_length: int
    """A state stood at the very end of the prompt, where a lookup may not go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFigures:
    """What a host tier did."""

    traffic: HostTraffic
    state_peak: int
    kv_peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSummary:
    """One trace at one split."""

    requests: int
    input_tokens: int
    """Of admitted requests."""
    cached_tokens: int
    kv_matched_tokens: int
    """Input tokens whose KV was cached at the lookup, reusable or not."""
    kv_only_tokens: int
    """Input tokens that a cache of KV blocks alone would reuse in the same pool."""
    losses: Losses
    running: dict[str, float]
    """Requests in a batch, over forward steps: mean, p50, p90, max."""
    queue_wait_s: float | None
    """Mean time from sending to admission; None without a clock."""
    retractions: int
    aborted: int
    rejected: int
    unfinished: int
    """Requests that could never be admitted, or stood behind one that could not."""
    state_peak: int
    kv_peak: int
    kv_evicted: int
    states_evicted: int
    cap_states_evicted: int
    waits_for_cap: int
    """Prefill passes that ended because as many ran as may run."""
    waits_for_room: int
    """Prefill passes that ended because the KV pool could not promise more."""
    steps: int
    interrupted: bool
    """The user stopped it; everything counts what had happened by then."""
    wall_s: float | None
    host: HostFigures | None = None
    """None without a host tier."""

    @property
    def binding(self) -> Bound:
        """What stands between this split and more reuse, or more requests at once."""
        floor = LOSS_THAT_COUNTS * self.input_tokens
        if max(self.losses.to_state, self.losses.to_kv) > floor:
            return "state" if self.losses.to_state >= self.losses.to_kv else "kv"
        return "concurrency" if self.waits_for_cap else "nothing"


def summarise(
    config: ReplayConfig, w: World, losses: Records, *, kv_only_tokens: int, interrupted: bool
) -> TraceSummary:
    """Adds up a replay, finished or interrupted."""
    now, requests = w.now[0], w.requests
    admitted = requests["matched"] >= 0
    place = requests["place"]
    clocked = bool(w.option[0]["clocked"])
    waits = (requests["admitted_s"] - requests["due_s"])[admitted]
    done = int(np.isin(place, (DONE, ABORTED)).sum())
    rejected = int((place == REJECTED).sum())
    return TraceSummary(
        requests=requests.size,
        input_tokens=int(requests["prompt"][admitted].sum()),
        cached_tokens=int(requests["matched"][admitted].sum()),
        kv_matched_tokens=int(losses["kv_matched"].sum()),
        kv_only_tokens=kv_only_tokens,
        losses=Losses(**{name: int(losses[name].sum()) for name in Losses.__slots__}),
        running=_running(w.busy),
        queue_wait_s=float(waits.mean()) if clocked and waits.size else None,
        retractions=int(requests["retractions"].sum()),
        aborted=int((place == ABORTED).sum()),
        rejected=rejected,
        unfinished=requests.size - done - rejected,
        state_peak=config.state_capacity_slots - int(now["least_state_free"]),
        kv_peak=config.kv_capacity_tokens - int(now["least_kv_free"]),
        kv_evicted=int(now["kv_evicted"]),
        states_evicted=int(now["states_evicted"]),
        cap_states_evicted=int(now["cap_states_evicted"]),
        waits_for_cap=int(now["cap_waits"]),
        waits_for_room=int(now["room_waits"]),
        steps=int(now["steps"]),
        interrupted=interrupted,
        wall_s=float(now["clock_s"]) if clocked else None,
        host=_host(config, w),
    )


def _host(config: ReplayConfig, w: World) -> HostFigures | None:
    traffic, now = read_traffic(w), w.now[0]
    if config.host is None or traffic is None:
        return None
    return HostFigures(
        traffic=traffic,
        state_peak=config.host.state_slots - int(now["least_host_state_free"]),
        kv_peak=config.host_kv_capacity_tokens - int(now["least_host_kv_free"]),
    )


def _running(busy: np.ndarray[Any, Any]) -> dict[str, float]:
    """Distribution of the rows of a batch, over the steps that ran one."""
    counts = busy.copy()
    counts[0] = 0
    total = int(counts.sum())
    if total == 0:
        return {"mean": 0.0, "p50": 0, "p90": 0, "max": 0}
    at = np.cumsum(counts)
    rows = np.arange(counts.size)
    return {
        "mean": float((rows * counts).sum() / total),
        "p50": int(np.searchsorted(at, 0.5 * total)),
        "p90": int(np.searchsorted(at, 0.9 * total)),
        "max": int(rows[counts > 0].max()),
    }
