"""What a plan's answer holds only when it is asked: sessions, spreads, releases, roles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from poolsplit.plan_answer import SplitFigures, StageFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFigures:
    """Kept sessions against one split."""

    state_slots_needed: int
    kv_tokens_needed: int
    fits: bool
    binding: str
    details: dict[str, int | float | str | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPoint:
    """What a ratio beside the recommended one gives."""

    factor: float
    ratio: float
    state_requests: int
    kv_requests: int
    running_requests: int
    expected_running: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MixFigures:
    """A spread of lengths against the mean alone."""

    mean_tokens: float
    p50_tokens: int
    p90_tokens: int
    p99_tokens: int
    overflow_fraction: float
    """Accepted chance of overflow."""
    kv_requests_by_mean: int
    """What the recommended KV pool would hold if every request had the mean length."""
    promised_by_mean: int
    """Requests that a plan for the mean promises."""
    overflow_of_mean_plan: float
    """Chance that those overflow the KV pool."""
    mean_ratio: float | None
    """The ratio that the mean alone asks for."""
    running_at_mean_ratio: int
    """Requests within the accepted overflow at that ratio."""
    expected_running: float
    """Requests that run on average at the recommended split, arrivals taken in order."""
    expected_running_at_mean_ratio: float
    losses: tuple[LossPoint, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFigures:
    """The same flags under another release's rules; differences are the plan's release less the other."""

    version: str
    figures: SplitFigures | None
    refused: str | None
    delta_slots: int | None
    delta_requests: int | None
    delta_kv_tokens: int | None
    free_after_pools_bytes: int | None
    delta_free_bytes: int | None
    keep_flags: tuple[str, ...]
    """Flags that keep the other release's tokens or free memory; empty where nothing is to be kept."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFigures:
    """One server of a prefill and decode pair."""

    role: Literal["prefill", "decode"]
    tokens: float
    """Length that this role holds: the input, or input and output."""
    current: SplitFigures | None
    recommended: SplitFigures
    launch_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPoint:
    """Requests at one ratio, a worker."""

    state_to_kv_ratio: float
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What the solver makes of one ratio; counts are per data-parallel worker."""

    state_to_kv_ratio: float
    state_slots: int
    kv_tokens: int
    state_requests: int
    kv_requests: int
    max_running_requests: int
    running_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureFigures:
    """What a picture shows beside the figures."""

    current: tuple[StageFigures, ...]
    """The split as it stands, stage by stage; empty where the launch does not start."""
    curve: tuple[CurvePoint, ...]
    curve_reason: str | None
    """Why there is no curve."""
    balance: RatioPoint | None
    """Where the state pool comes to carry as many requests as the KV pool."""
    current_point: RatioPoint | None
    recommended_point: RatioPoint | None
