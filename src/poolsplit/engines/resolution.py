"""One launch resolved and solved, with everything a person may ask about it, in words that no engine owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.derivation import Step
    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import RankFigures, ResolvedPools
    from poolsplit.shapes.model_shape import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A launch, what the engine makes of it, and the pools."""

    engine: Mapping[str, str]
    """Name and version of the engine whose rules answered."""
    shape: ModelShape
    device: Device
    memory: FreeMemory
    memory_source: str
    """Where the free memory comes from, and how sure it is."""
    memory_error_bytes: int = 0
    """How far the bytes left for both pools may be off, either way; 0 where they were measured."""
    asked: Mapping[str, Any]
    """Arguments that the launch gives, by the engine's own names."""
    arguments: Mapping[str, Any]
    """All arguments that reach memory, after resolution."""
    pools: ResolvedPools
    figures: tuple[RankFigures, ...]
    """Sizes that the start-up log prints, one a pipeline stage."""
    derivation: tuple[Step, ...]
    warnings: tuple[str, ...]
    launcher_message: str | None
    """Why the launcher refuses this launch although the solver answers; None when it does not."""

    @property
    def both_pools_interval_bytes(self) -> tuple[int, int]:
        """Where the bytes left for both pools lie, on the stage that has least."""
        least = int(min(stage.rest_gib for stage in self.pools.stages) * GIB)
        return least - self.memory_error_bytes, least + self.memory_error_bytes

    @property
    def workers(self) -> int:
        """Data-parallel workers of one server, which share its cards."""
        return int(self.arguments.get("attn_dp_size", 1))

    @property
    def replicas(self) -> int:
        """Whole servers that the launch starts; the figures are those of one."""
        asked = self.asked.get("dp_size")
        return asked if isinstance(asked, int) and asked > 1 and self.workers == 1 else 1

    @property
    def running_requests_of_all_replicas(self) -> int:
        """Requests over every worker of every replica."""
        return self.pools.max_running_requests * self.workers * self.replicas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AskedLaunch:
    """What was asked, as a document says it again beside a refusal."""

    model: str
    device: Device
    flags: Mapping[str, Any]
    """The flags that reach memory, without those left at their defaults."""
    memory: FreeMemory | None
    """None where the weights leave none; the source says so."""
    memory_source: str
    version: str
    """Release whose rules answer."""
    warnings: tuple[str, ...]
