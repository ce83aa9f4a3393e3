"""Finds everything that a plan solves with: from a log, or from model, card and memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from poolsplit.answers.launch_memory import find_memory
from poolsplit.answers.opened_launch import open_launch
from poolsplit.answers.planner.requests import Prepared, ReuseFacts
from poolsplit.engines.sglang.deployment import SglangDeployment
from poolsplit.engines.sglang.loading import stops_loading
from poolsplit.errors import InputError, LaunchRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.answers.opened_launch import OpenedLaunch
    from poolsplit.answers.planner.requests import PlanRequest
    from poolsplit.budget.memory import MemoryFigures
    from poolsplit.derivation import Step
    from poolsplit.engines.engine import Buffer, Changes, Lever, Solution
    from poolsplit.engines.free_memory import FreeMemory
    from poolsplit.engines.sglang.command import LaunchCommand
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.shapes.model_shape import DraftShape

SKIP_DECODE_LOCK = "SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK"
_PERCENT = 100
DEFAULT_HOST_RATIO = 2.0
"""Host copies of both pools against the device's, where neither ratio nor size is given."""


def prepare(request: PlanRequest) -> Prepared:
    """Finds everything that a plan solves with: from a log, or from model, card and memory."""
    if request.boot_log is not None:
        from poolsplit.answers.planner.from_log import prepare_from_log

        return prepare_from_log(request.launch, request.boot_log)
    opened = open_launch(request.launch)
    return prepare_opened(opened, find_memory(request.launch, opened))


def prepare_opened(opened: OpenedLaunch, memory: MemoryFigures, warnings: tuple[str, ...] = ()) -> Prepared:
    """The deployment of one opened launch with known or estimated memory.

    Raises:
        InputError: The model has no state layers: there is nothing to split. Or its static fraction is above 1: the
            engine would size both pools so and end when it allocates them, so that no split of them is a plan.
    """
    if opened.shape.state is None:
        raise InputError(
            f"{opened.shape.name} has no state layers: there is one pool, and nothing to split",
            hint="`poolsplit models` lists hybrid models",
        )
    fraction = opened.flags.mem_fraction_static
    if fraction is not None and fraction > 1:
        raise InputError(
            f"`--mem-fraction-static {fraction:g}` is more than the whole of the card",
            hint=f"`--mem-fraction-static {fraction / 100:g}`" if fraction <= _PERCENT else "a number from 0 to 1",
        )
    deployment = replace(deployment_of(opened, memory.free), launch=by_full_name(opened))
    return Prepared(
        deployment=deployment,
        levers=levers_for(deployment),
        buffers=buffers_for(deployment),
        derive=derive_for(deployment),
        after_weights_gib=memory.free.per_stage_gib,
        before_gib=memory.free.before_gib,
        launch_values=dict(opened.launch.values),
        reuse=reuse_for(deployment),
        model=opened.shape.name,
        device=opened.device.name,
        version=opened.switches.version,
        constants_origin=opened.model.origin,
        rest_origin=memory.origin,
        rest_source=memory.source,
        rest_error_bytes=memory.error_bytes,
        warnings=(*opened.warnings, *warnings, *memory.warnings, *fault_warnings(deployment)),
    )


def deployment_of(opened: OpenedLaunch, memory: FreeMemory | Callable[[ResolvedFlags], FreeMemory]) -> SglangDeployment:
    """The engine's side of a plan for one opened launch."""

    def own_draft() -> DraftShape:
        from poolsplit.hub import find_draft

        return find_draft(opened.shape.name)

    return SglangDeployment(
        shape=opened.shape,
        flags=opened.flags,
        device=opened.device,
        memory=memory,
        switches=opened.switches,
        draft=opened.draft,
        launch=opened.launch,
        own_draft=own_draft,
    )


def by_full_name(opened: OpenedLaunch) -> LaunchCommand:
    """The launch with an embedded model under the id that a server can load, where a part of it was typed."""
    launch, full = opened.launch, opened.shape.name
    typed = str(launch.values.get("model_path", ""))
    short = {full.casefold(), full.rpartition("/")[2].casefold()}
    if launch.form != "flags" or opened.model.origin != "catalog" or typed.casefold() not in short:
        return launch
    return replace(launch, values={**launch.values, "model_path": full})


def fault_warnings(deployment: SglangDeployment) -> tuple[str, ...]:
    """Known faults of the release that the launch as it stands can reach."""
    from poolsplit.engines.sglang.faults import PACKED_PREFILL_TOKENS, faults_reached, packed_prefill_reachable

    resolved = deployment.resolve({})
    largest = max(resolved.chunked_prefill_size, resolved.max_prefill_tokens)
    found = list(faults_reached(deployment.flags, deployment.switches.version))
    if packed_prefill_reachable(deployment.shape.architecture, largest):
        found.append(
            f"a packed prefill of {largest:,} tokens can pass 2^31 elements in builds without the fix "
            f"({PACKED_PREFILL_TOKENS:,} tokens): lower `--max-prefill-tokens` and `--chunked-prefill-size`"
        )
    return tuple(found)


def derive_for(deployment: SglangDeployment) -> Callable[[Solution, Changes], tuple[Step, ...]]:
    """How the solver found the pools of a deployment."""

    def derived(solution: Solution, changes: Changes) -> tuple[Step, ...]:
        from poolsplit.engines.sglang.solver.derivation import derive

        resolved = deployment.resolve(changes)
        return derive(resolved, deployment.memory_under(changes), deployment.switches, solution.pools)

    return derived


def levers_for(
    deployment: SglangDeployment, idle_fraction: float | None = None
) -> Callable[[Changes], tuple[Lever, ...]]:
    """What else could be changed about a deployment."""

    def levers(changes: Changes) -> tuple[Lever, ...]:
        from poolsplit.engines.sglang.deployment import changed_flags
        from poolsplit.engines.sglang.levers import levers_of

        flags = changed_flags(deployment.flags, changes)
        resolved, release = deployment.resolve(changes), deployment.switches.version
        found = levers_of(deployment.shape, flags, resolved, deployment.device, release, idle_fraction)
        return tuple(
            replace(lever, stops=_absent(deployment, lever) or _stop_with(deployment, {**changes, **lever.changes}))
            for lever in found
        )

    return levers


def _absent(deployment: SglangDeployment, lever: Lever) -> str:
    """What the release lacks of a lever; empty where it has all of it."""
    from poolsplit.engines.sglang.command.changes import is_variable
    from poolsplit.engines.sglang.command.flag_table import sets_field, spelling_of

    switches = deployment.switches
    for name, value in lever.changes.items():
        if is_variable(name):
            if name == SKIP_DECODE_LOCK and not switches.honours_skip_decode_lock:
                return f"{switches.version} does not read {name}"
        elif value is not None and not sets_field(name, switches.version):
            return f"{switches.version} has no `{spelling_of(name, switches.version)}`"
    return ""


def _stop_with(deployment: SglangDeployment, changes: Changes) -> str:
    """Why the model would stop its server while it loads; empty also where the launch is refused before that."""
    try:
        resolved = deployment.resolve(changes)
    except LaunchRefusedError:
        return ""
    return stops_loading(
        deployment.shape.architecture,
        role=resolved.disaggregation_mode,
        radix_off=resolved.disable_radix_cache,
        buffered=resolved.enable_mamba_extra_buffer,
        one_window_pool=bool(deployment.flags.disable_hybrid_swa_memory),
    )


def buffers_for(deployment: SglangDeployment) -> Callable[[Solution, Changes], tuple[Buffer, ...]]:
    """Memory that a deployment allocates beside what its solver reserves."""

    def buffers(solution: Solution, changes: Changes) -> tuple[Buffer, ...]:
        from poolsplit.engines.sglang.headroom import buffers_beside

        resolved, switches = deployment.resolve(changes), deployment.switches
        return buffers_beside(deployment.shape, deployment.flags, resolved, solution.pools, switches)

    return buffers


def reuse_for(deployment: SglangDeployment) -> Callable[[Changes], ReuseFacts]:
    """What decides how many checkpoints a session leaves under a deployment."""

    def reuse(changes: Changes) -> ReuseFacts:
        resolved = deployment.resolve(changes)
        chunk = resolved.chunked_prefill_size
        limit = changes.get("mamba_max_states_per_path", deployment.flags.mamba_max_states_per_path)
        given = deployment.launch.values if deployment.launch is not None else {}
        size, ratio = given.get("hicache_size"), given.get("hicache_ratio")
        tiered = bool(given.get("enable_hierarchical_cache")) or size is not None or ratio is not None
        sized = size if isinstance(size, int | float) and size > 0 else None
        return ReuseFacts(
            chunk_tokens=chunk if chunk > 0 else max(1, resolved.context_len),
            states_per_path=limit if limit is not None and limit > 0 and deployment.switches.padding_slot else None,
            host_ratio=None if not tiered or sized is not None else float(ratio or DEFAULT_HOST_RATIO),
            host_size_gb=None if sized is None else float(sized),
            ranks_per_node=max(1, resolved.tp_size * resolved.pp_size // max(1, deployment.flags.nnodes)),
            host_size_shared=deployment.switches.padding_slot,
            strategy="off" if resolved.disable_radix_cache else resolved.mamba_radix_cache_strategy,
            overlap=not resolved.disable_overlap_schedule,
            track_interval_tokens=resolved.mamba_track_interval,
            state_chunk_tokens=deployment.shape.state_chunk_tokens,
        )

    return reuse
