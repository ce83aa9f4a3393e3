"""CUDA graphs, as far as the memory fraction reserves for them: which are on, and how many sizes they take."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.rules import architectures as arch
from poolsplit.units import align_up

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_GRAPH_FRIENDLY_A2A = frozenset({None, "none", "deepep", "megamoe", "flashinfer"})


_UNSIZED_GRAPH_TOKENS = 2048
_DEEPEP_ALIGNMENT = 8


@lru_cache(maxsize=256)
def prefill_graph_sizes(largest: int) -> tuple[int, ...]:
    """Prefill graph sizes up to `largest` tokens."""
    sizes = (
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
        *range(4608, largest + 1, 512),
    )
    return tuple(size for size in sizes if size <= largest)


@lru_cache(maxsize=256)
def prefill_graph_buckets(largest: int) -> int:
    """How many prefill graph sizes there are up to `largest` tokens."""
    return len(prefill_graph_sizes(largest))


def choose_graphs(launch: Launch) -> None:
    """Which graphs are on; the prefill graph is `breakable` unless a rule turns it off.

    Source: docs/reference/start-up.md#prefill-graph.
    """
    flags = launch.flags
    launch.decode_graphs = not (flags.disable_cuda_graph or flags.disable_decode_cuda_graph)
    if flags.cuda_graph_backend_decode is not None:
        launch.decode_graphs = flags.cuda_graph_backend_decode != "disabled"
    asked = flags.cuda_graph_backend_prefill
    if asked is None and flags.disable_prefill_cuda_graph:
        asked = "disabled"
    if asked is None and launch.shape.architecture in arch.INKLING:
        asked = "full"
    if asked is None and flags.disable_cuda_graph:
        asked = "disabled"
    if asked is not None:
        launch.prefill_graph, launch.prefill_graph_locked = asked, True
    elif _prefill_graph_off(launch):
        launch.prefill_graph = "disabled"
    if flags.moe_a2a_backend == "deepep" and launch.prefill_graph == "breakable":
        _align_for_deepep(launch)
    if launch.role == "prefill" and flags.cuda_graph_backend_decode is None:
        launch.decode_graphs = False
    if launch.role == "decode" and not launch.prefill_graph_locked:
        launch.prefill_graph = "disabled"


def _align_for_deepep(launch: Launch) -> None:
    """DeepEP rounds the sizes up to multiples of 8; unsized graphs end at 2048 tokens, before the chunk is known."""
    sizes = launch.flags.cuda_graph_bs_prefill or prefill_graph_sizes(launch.prefill_graph_max or _UNSIZED_GRAPH_TOKENS)
    aligned = {align_up(size, _DEEPEP_ALIGNMENT) for size in sizes}
    launch.prefill_graph_max, launch.prefill_graph_buckets = max(aligned), len(aligned)


def _prefill_graph_off(launch: Launch) -> bool:
    """Whether a rule of this release turns the default prefill graph off."""
    switches, name = launch.switches, launch.shape.architecture
    return (
        launch.device.rocm
        or _layout_ends_graph(launch)
        or name in switches.prefill_graph_off_for
        or (launch.uses_latent and switches.prefill_graph_off_latent and not _sparse_exempt(launch))
        or _all_to_all_ends_graph(launch)
        or (launch.is_multimodal and name not in switches.prefill_graph_multimodal)
    )


def _layout_ends_graph(launch: Launch) -> bool:
    """Stages, attention replicas or context parallelism that the graph is not captured under."""
    flags, switches = launch.flags, launch.switches
    staged = flags.pp_size > 1 and switches.prefill_graph_off_with_stages
    replicated = launch.replicas_asked and switches.prefill_graph_off_with_dp
    overlapped = flags.enable_two_batch_overlap and switches.prefill_graph_off_with_two_batches
    return staged or replicated or overlapped or flags.dcp_size > 1 or flags.attn_cp_size > 1


def _all_to_all_ends_graph(launch: Launch) -> bool:
    """Expert exchange (and in one release adapters) that the graph is not captured with."""
    exchange = launch.flags.moe_a2a_backend
    if launch.switches.prefill_graph_off_with_any_a2a:
        return launch.flags.enable_lora or exchange not in (None, "none")
    return exchange not in _GRAPH_FRIENDLY_A2A


def _sparse_exempt(launch: Launch) -> bool:
    """Sparse latent attention keeps its prefill graph where dense latent attention loses it."""
    attention = launch.shape.attention
    return launch.switches.prefill_graph_kept_sparse and attention is not None and attention.index is not None


def clamp_prefill_graph(launch: Launch) -> None:
    """Under attention data parallelism the sizes shrink to the divided chunk, after `f` was set."""
    chunk = launch.chunked_prefill_size
    if launch.attn_dp_size <= 1 or launch.prefill_graph == "disabled" or launch.flags.cuda_graph_max_bs_prefill:
        return
    if launch.prefill_graph_max > chunk:
        launch.prefill_graph_max = chunk
        if launch.flags.cuda_graph_bs_prefill is None:
            launch.prefill_graph_buckets = prefill_graph_buckets(chunk)
