"""SGLang as planning sees it: one launch that is resolved and solved again for every change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from poolsplit.engines.engine import Changes, Layout, Solution
from poolsplit.engines.sglang.command.changes import PIN, RATIO, WrittenLaunch, is_variable
from poolsplit.engines.sglang.flag_sense import PARTITION
from poolsplit.engines.sglang.flags import FLAG_NAMES
from poolsplit.engines.sglang.partition import with_moved_weights
from poolsplit.engines.sglang.refusals import LAUNCHER
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.shards import stage_ranges
from poolsplit.engines.sglang.slots import slots_per_request
from poolsplit.engines.sglang.solver import solve
from poolsplit.errors import LaunchRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from poolsplit.engines.device import Device
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

DRAFT_PATH = "speculative_draft_model_path"

HELD_SLOTS = {5: 4.0}
"""Slots held per running request by slots reserved, as operators measured them at every load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangDeployment(WrittenLaunch):
    """One launch on one card with known free memory."""

    shape: ModelShape
    flags: Flags
    device: Device
    memory: FreeMemory | Callable[[ResolvedFlags], FreeMemory]
    """Free memory, or how it follows from the resolved launch where both pools' bytes are what is known."""
    draft: DraftShape | None = None
    own_draft: Callable[[], DraftShape] | None = None
    """The model's own draft layers as a draft checkpoint, for when a change names the model as its draft."""
    _resolved: dict[Any, ResolvedFlags] = field(default_factory=dict, compare=False, repr=False)

    def solve(self, changes: Changes) -> Solution:
        """The pools with some flags changed.

        Raises:
            LaunchRefusedError: The engine would refuse the launch, its launcher included.
        """
        resolved = self.resolve(changes)
        if resolved.launcher_reason is not None:
            raise LaunchRefusedError(
                resolved.launcher_message or "the launcher refuses this launch",
                stage=LAUNCHER,
                reason=resolved.launcher_reason,
                hint="drop `--pp-size` or `--speculative-algorithm`",
            )
        pools = solve(self.shape, resolved, self.memory_under(changes), self.switches, self._draft(changes))
        return solution_of(self.shape, resolved, pools, self.switches)

    def memory_under(self, changes: Changes) -> FreeMemory:
        """Free memory with some flags changed: where layers move between stages, their weights do.

        Raises:
            LaunchRefusedError: The layers of the stages do not add up.
        """
        resolved = self.resolve(changes)
        memory = self.memory(resolved) if callable(self.memory) else self.memory
        if PARTITION not in changes or resolved.pp_size != self.flags.pp_size:
            return memory
        cuts = (self.resolve({}).pp_layer_partition, resolved.pp_layer_partition)
        was, now = (stage_ranges(self.shape.layers, resolved.pp_size, cut) for cut in cuts)
        return with_moved_weights(memory, was, now)

    def resolve(self, changes: Changes) -> ResolvedFlags:
        """The launch after argument resolution with some flags changed; the split itself resolves to itself."""
        split = {name: changes[name] for name in (RATIO, PIN) if name in changes}
        others = {name: value for name, value in changes.items() if name not in split}
        key = frozenset(others.items())
        if key not in self._resolved:
            flags = changed_flags(self.flags, others)
            self._resolved[key] = resolve_flags(self.shape, flags, self.device, self.switches, self._draft(changes))
        return _with_split(self._resolved[key], split) if split else self._resolved[key]

    def _draft(self, changes: Changes) -> DraftShape | None:
        if changes.get(DRAFT_PATH) is not None and self.own_draft is not None:
            return self.own_draft()
        return self.draft

    def layout(self, changes: Changes) -> Layout:
        """Slots per request and replicas with some flags changed.

        Raises:
            LaunchRefusedError: The engine would refuse the launch before it sizes anything.
        """
        resolved = self.resolve(changes)
        return Layout(slots_per_request=slots_per_request(resolved), workers=resolved.attn_dp_size)


def changed_flags(flags: Flags, changes: Changes) -> Flags:
    """Flags with some of them set or taken away."""
    variables = {name: str(value) for name, value in changes.items() if is_variable(name) and value is not None}
    fields = {name: _unset(name, value) for name, value in changes.items() if name in FLAG_NAMES}
    env: Mapping[str, str] = {**flags.env, **variables} if variables else flags.env
    return replace(flags, **fields, env=env)


def _unset(name: str, value: Any) -> Any:
    from poolsplit.engines.sglang.flags import Flags

    return getattr(Flags(), name) if value is None else value


def _with_split(resolved: ResolvedFlags, split: Changes) -> ResolvedFlags:
    ratio, pin = split.get(RATIO), split.get(PIN, resolved.max_mamba_cache_size)
    if ratio is None:
        return replace(resolved, max_mamba_cache_size=pin)
    return replace(
        resolved, max_mamba_cache_size=pin, mamba_full_memory_ratio=ratio, mamba_full_memory_ratio_source="flag"
    )


def solution_of(shape: ModelShape, resolved: ResolvedFlags, pools: ResolvedPools, switches: Switches) -> Solution:
    """Solved pools with the resolved arguments that a plan reads."""
    state = pools.stages[0].state
    arm = state.arm if state is not None else ""
    asked = resolved.max_running_requests
    workers = resolved.attn_dp_size
    window = shape.window.window_tokens + resolved.page_size if shape.window is not None else None
    return Solution(
        pools=pools,
        request_cap=None if asked is None else max(1, asked // workers),
        workers=workers,
        dcp_size=resolved.dcp_size,
        page_tokens=resolved.page_size,
        state_to_kv_ratio=resolved.mamba_full_memory_ratio,
        pinned_slots=resolved.max_mamba_cache_size,
        ratio_counts=arm.startswith("auto"),
        charged_slots=(pools.state_slots or 0) + (1 if switches.padding_slot else 0),
        ratio_budget_bytes=ratio_budget_bytes(pools, switches),
        balance_draft_states=balance_draft_states(pools),
        memory_fraction=resolved.mem_fraction_static,
        held_slots_per_request=HELD_SLOTS.get(pools.slots_per_request or 0),
        window_tokens_per_request=window,
        warnings=resolved.warnings + ((switches.warning,) if switches.warning else ()),
    )


def balance_draft_states(pools: ResolvedPools) -> int:
    """Draft states that are charged; none where the verification reserves no scratch."""
    state = pools.stages[0].state
    return pools.draft_states if state is not None and state.verify_bytes else 0


def ratio_budget_bytes(pools: ResolvedPools, switches: Switches) -> float:
    """Bytes that the ratio's share must reach for these slots: the state pool, and draft states priced by the slot.

    Source: the two ratio arms solved for their budget; held by `test_optimum`.
    """
    state, geometry = pools.stages[0].state, pools.state
    if state is None or geometry is None:
        return 0.0
    by_request = state.state_slots / (pools.slots_per_request or 1) + (1 if switches.padding_slot else 0)
    return state.pool_bytes + geometry.charged_bytes_per_slot * balance_draft_states(pools) * by_request
