"""What the engine's model config makes of the shape: readable at all, context length, multimodal or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch
    from poolsplit.errors import LaunchRefusedError

FALLBACK_CONTEXT_TOKENS = 2048
"""Context length of a config that names none (pure Mamba checkpoints)."""


def read_model(launch: Launch) -> None:
    """Refuse what the release cannot read, then settle context length and modality.

    Pure Mamba configs load in every release and fail only once their attention is looked for, after the context length.

    Source: docs/reference/start-up.md#release-models and docs/reference/start-up.md#checks.
    """
    shape, flags = launch.shape, launch.flags
    if shape.family in arch.NOT_SERVED_FAMILIES:
        raise _unreadable(launch)
    unreadable = shape.architecture in launch.switches.unreadable
    if unreadable and shape.architecture not in arch.PURE_MAMBA:
        raise _unreadable(launch)
    serves = flags.enable_multimodal
    if serves is None:
        serves = shape.architecture not in arch.MULTIMODAL_OPT_IN
    launch.is_multimodal = shape.multimodal and serves and not flags.language_model_only
    own = shape.context_len or FALLBACK_CONTEXT_TOKENS
    asked = flags.context_length
    if asked is not None and asked > own and not launch.env_flag("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"):
        raise refuse("context_length_above_model", asked=asked, own=own)
    launch.context_len = own if asked is None else asked
    if unreadable:
        raise _unreadable(launch)


def check_language_model_only(launch: Launch) -> None:
    """Leaving the encoders away is for listed architectures, none of which keeps recurrent states."""
    if launch.flags.language_model_only:
        raise refuse("language_model_only", architecture=launch.shape.architecture)


def check_window_pool(launch: Launch) -> None:
    """A model of window layers and states asserts its own pool for them while it loads.

    Source: the model class itself, outside what argument resolution checks.
    """
    if launch.flags.disable_hybrid_swa_memory and launch.shape.window is not None and launch.shape.state is not None:
        raise refuse("window_pool_needed", architecture=launch.shape.architecture)


def _unreadable(launch: Launch) -> LaunchRefusedError:
    return refuse("model_not_in_release", architecture=launch.shape.architecture, version=launch.switches.version)


def check_transport(launch: Launch) -> None:
    """Features travel through CUDA IPC on one node only."""
    if launch.flags.mm_feature_transport == "cuda_ipc" and launch.flags.nnodes != 1:
        raise refuse("cuda_ipc_nodes")


def reserve_multimodal_gib(launch: Launch) -> float:
    """GiB kept back for buffers that a multimodal model allocates after the pools are sized.

    Source: docs/reference/start-up.md#rest (`mm`); switch `reserves_multimodal`.
    """
    if not launch.is_multimodal or not launch.switches.reserves_multimodal:
        return 0.0
    reserved_mb = int(launch.env.get("SGLANG_VLM_CACHE_SIZE_MB", "100"))
    if launch.flags.mm_feature_transport in ("cuda_ipc", "cuda_vmm"):
        reserved_mb += int(launch.env.get("SGLANG_MM_FEATURE_CACHE_MB", "1024"))
    return reserved_mb / 1024
