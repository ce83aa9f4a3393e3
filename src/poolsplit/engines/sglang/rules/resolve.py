"""The order in which the engine resolves a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.rules import (
    attention,
    families,
    graphs,
    kv_dtype,
    layout,
    memory,
    model,
    notices,
    radix,
    speculation,
    state,
    unified,
)
from poolsplit.engines.sglang.rules.launch import Launch
from poolsplit.engines.sglang.rules.record import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.device import Device
    from poolsplit.engines.sglang.flags import Flags
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

_STEPS: tuple[Callable[[Launch], None], ...] = (
    speculation.check_context_parallel_speculation,
    model.read_model,
    model.check_language_model_only,
    layout.split_attention,
    layout.apply_role,
    speculation.check_role_speculation,
    graphs.choose_graphs,
    memory.apply_card_defaults,
    memory.set_memory_fraction,
    radix.settle_registry_strategy,
    families.apply_family,
    families.check_family,
    radix.settle_strategy,
    attention.settle_deterministic,
    kv_dtype.choose_nvfp4_backends,
    attention.settle_backend,
    state.check_state_options,
    state.settle_linear_attention,
    kv_dtype.check_fp4,
    kv_dtype.check_mxfp8,
    radix.check_lmcache,
    attention.default_page_size,
    layout.divide_prefill_chunk,
    graphs.clamp_prefill_graph,
    layout.check_layout,
    layout.check_sharding,
    layout.stages_end_overlap,
    speculation.settle_speculation,
    state.check_ring,
    layout.check_encoder_split,
    radix.check_caches,
    unified.check_page_layout,
    unified.check_unified,
    model.check_transport,
    model.check_window_pool,
    notices.add_notices,
)
"""The engine's own order: a later rule sees what an earlier one declared, and the first refusal wins."""


def resolve_flags(
    shape: ModelShape, flags: Flags, device: Device, switches: Switches, draft: DraftShape | None = None
) -> ResolvedFlags:
    """Every argument that the start-up solver reads, after defaults, overrides and validation.

    Args:
        shape: The target model.
        flags: The launch as asked for; `flags.env` its environment.
        device: The card.
        switches: The rules of the release.
        draft: The draft checkpoint, when the launch names one.

    Raises:
        LaunchRefusedError: The engine refuses the launch before it sizes anything (stage `server_args`).
    """
    launch = Launch(shape, flags, device, switches, draft)
    for step in _STEPS:
        step(launch)
    return record(launch)
