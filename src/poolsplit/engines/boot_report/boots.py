"""One start of a server, and every start that a log holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.boot_facts import (
        ElasticPool,
        EngineError,
        KvReduction,
        Launch,
        ReleaseHint,
        RequestCap,
        UnifiedPool,
    )
    from poolsplit.engines.boot_report.rank_report import RankReport
    from poolsplit.engines.boot_report.runtime_report import RuntimeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignReport:
    """What could be read of another engine's log."""

    engine: str
    figures: Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootReport:
    """One start of a server."""

    kind: str
    """`hybrid`, `not_hybrid`, `elastic`, `other_engine` or `not_a_boot`."""
    engine: str | None
    version: str | None = None
    """One release, a range, or None where nothing tells."""
    version_hints: tuple[ReleaseHint, ...] = ()
    hybrid: bool | None = None
    model: str | None = None
    model_class: str | None = None
    launch: Launch | None = None
    launch_command: tuple[str, ...] = ()
    ranks: Mapping[str, RankReport] = field(default_factory=dict)
    cap: RequestCap | None = None
    kv_reduction: KvReduction | None = None
    unified: UnifiedPool | None = None
    elastic: ElasticPool | None = None
    foreign: ForeignReport | None = None
    requested_running_requests: int | None = None
    granted_running_requests: int | None = None
    binding: str | None = None
    """`state`, `kv` or `request_cap`: what stops the next request."""
    binding_reason: str | None = None
    slots_per_request: int | None = None
    slots_per_request_reason: str | None = None
    possible_slots_per_request: tuple[int, ...] = ()
    """What the engine may reserve for one request."""
    errors: tuple[EngineError, ...] = ()
    ready: bool = False
    runtime: RuntimeReport | None = None
    missing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def role(self) -> str | None:
        """`prefill` or `decode` in a split deployment; None elsewhere, or where no line tells."""
        mode = self.launch.values.get("disaggregation_mode") if self.launch else None
        if mode in ("prefill", "decode"):
            return str(mode)
        return "decode" if any(error.id == "decode_state_pool_raised" for error in self.errors) else None

    @property
    def pool_ranks(self) -> tuple[RankReport, ...]:
        """Ranks that carry a pool line."""
        return tuple(rank for rank in self.ranks.values() if rank.state or rank.kv)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """Every start that the given files hold, oldest first, with what follows from the last."""

    boots: tuple[BootReport, ...]
    warnings: tuple[str, ...] = ()

    @property
    def last(self) -> BootReport | None:
        """The start that counts."""
        return self.boots[-1] if self.boots else None
