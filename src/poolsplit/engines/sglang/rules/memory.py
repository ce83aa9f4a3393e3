"""The default of `--mem-fraction-static`, and the card-size defaults that it is computed from.

Source: docs/reference/start-up.md#memory-fraction and docs/reference/start-up.md#release-fraction. Held by
every golden case that leaves the flag unset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.rules import architectures as arch
from poolsplit.engines.sglang.rules.graphs import prefill_graph_buckets

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_LARGE_CARD_MIB = 60 * 1024
_LARGE_CARD_RESERVE_MIB = 10 * 1024
_CARD_CLASSES_MIB = (20 * 1024, 35 * 1024, 60 * 1024, 160 * 1024)
_PREFILL_CHUNKS = (2048, 4096, 4096, 8192, 16384)
_DECODE_GRAPHS = ((8, 8), (48, 160), (32, 160), (256, 512), (512, 512))
"""Largest decode graph per class of card: below four tensor-parallel ranks, and from four on."""
_SMALL_CARD_CLASS = 1
_WIDE_RANKS = 4
_LARGE_DECODE_GRAPH = 300
_VISION_REFERENCE = 24 * 1024 * 1024
_STAGED_GRAPH_MAX_TOKENS = 8192


def apply_card_defaults(launch: Launch) -> None:
    """Prefill chunk and graph sizes by the size of the card."""
    flags, switches = launch.flags, launch.switches
    card_class = _card_class(launch.device.memory_mib)
    asked_chunk = flags.chunked_prefill_size
    glm5_tokens = _glm5_graph_tokens(launch)
    if asked_chunk is None:
        asked_chunk = glm5_tokens or _default_chunk(launch, card_class)
        launch.origins["chunked_prefill_size"] = "the default for this size of card"
    launch.chunked_prefill_size = asked_chunk
    if flags.cuda_graph_max_bs_decode is None:
        sizes = _DECODE_GRAPHS[card_class] if card_class is not None else (160, 160)
        largest = sizes[flags.tp_size >= _WIDE_RANKS]
        if card_class == _SMALL_CARD_CLASS and not switches.small_card_doubled:
            largest //= 2
        asked = launch.max_running_requests
        if switches.decode_graph_capped_at_requests and asked is not None:
            largest = min(largest, asked)
        launch.decode_graph_max_bs = largest
    if flags.cuda_graph_bs_decode:
        launch.decode_graph_max_bs = max(flags.cuda_graph_bs_decode)
    if not launch.prefill_graph_max and flags.cuda_graph_max_bs_prefill is None:
        launch.prefill_graph_max = glm5_tokens or _default_prefill_graph(launch)
    if switches.prefill_graph_within_context and flags.context_length is not None:
        launch.prefill_graph_max = min(launch.prefill_graph_max, flags.context_length)
    if flags.cuda_graph_bs_prefill and not launch.prefill_graph_buckets:
        launch.prefill_graph_buckets = len(flags.cuda_graph_bs_prefill)
    if not launch.prefill_graph_buckets:
        launch.prefill_graph_buckets = prefill_graph_buckets(launch.prefill_graph_max)


def _glm5_graph_tokens(launch: Launch) -> int | None:
    """Chunk and largest graph of GLM-5-Next, when its breakable prefill graph is asked for by name."""
    asked = launch.prefill_graph == "breakable" and launch.prefill_graph_locked
    return launch.switches.glm5_prefill_graph_tokens if asked and launch.shape.architecture == arch.GLM5_NEXT else None


def _card_class(memory_mib: int | None) -> int | None:
    return None if memory_mib is None else sum(memory_mib >= limit for limit in _CARD_CLASSES_MIB)


def _default_chunk(launch: Launch, card_class: int | None) -> int:
    if card_class is None:
        return 4096
    if card_class == _SMALL_CARD_CLASS and not launch.switches.small_card_doubled:
        return _PREFILL_CHUNKS[card_class] // 2
    return _PREFILL_CHUNKS[card_class]


def _default_prefill_graph(launch: Launch) -> int:
    """Largest prefill graph, in tokens."""
    chunk = launch.chunked_prefill_size
    switches = launch.switches
    largest = chunk
    if launch.uses_latent:
        fixed = switches.latent_prefill_graph_tokens
        largest = min(fixed, chunk) if switches.latent_prefill_graph_within_chunk else fixed
    capped = switches.prefill_graph_capped_with_stages
    if capped and launch.flags.pp_size > 1 and launch.prefill_graph == "breakable":
        largest = min(largest, _STAGED_GRAPH_MAX_TOKENS)
    if launch.flags.max_total_tokens is not None:
        largest = min(largest, launch.flags.max_total_tokens)
    return largest


def set_memory_fraction(launch: Launch) -> None:
    """The share of the free memory that weights and pools may take, when the launch does not say.

    Speculation is resolved later: a launch that leaves its draft tokens unset counts one here.
    """
    if launch.flags.mem_fraction_static is not None:
        launch.mem_fraction_static = launch.flags.mem_fraction_static
        return
    memory_mib = launch.device.memory_mib
    origin = "the default when the card's size is unknown"
    if memory_mib is None:
        fraction = launch.switches.fraction_of_unknown_card
    else:
        reserve = _reserve_mib(launch, memory_mib)
        fraction = round((memory_mib - reserve) / memory_mib, 3)
        origin = f"default: {memory_mib} MiB less {reserve:g} MiB for activations, ranks and graphs"
    if _vision_applies(launch):
        fraction *= _vision_factor(launch)
        origin += ", times the share left by the vision tower"
    launch.mem_fraction_static = fraction
    launch.origins["mem_fraction_static"] = origin


def _reserve_mib(launch: Launch, memory_mib: int) -> float:
    flags = launch.flags
    reserved = 512 + _activation_tokens(launch) * 1.5
    reserved += flags.tp_size * flags.pp_size / 8 * 1024
    reserved += _graphs_mib(launch)
    if memory_mib > _LARGE_CARD_MIB:
        reserved = max(reserved, _LARGE_CARD_RESERVE_MIB)
    if flags.moe_a2a_backend == "deepep" and launch.role != "prefill" and launch.decode_graphs:
        reserved += 2 * 1024
    return reserved


def _activation_tokens(launch: Launch) -> int:
    if launch.role == "decode":
        running = launch.max_running_requests or launch.decode_graph_max_bs or 1
        return max(running * (launch.spec_draft_tokens or 1), 2048)
    chunk = launch.chunked_prefill_size
    return max(chunk if chunk > 0 else launch.max_prefill_tokens, 2048)


def _graphs_mib(launch: Launch) -> float:
    """Reserve for graph buffers, decode and prefill."""
    reserved = 0.0
    largest = launch.decode_graph_max_bs
    if launch.role != "prefill":
        if launch.decode_graphs:
            reserved += largest * 2
        if launch.replicas_asked:
            reserved += largest * launch.attn_dp_size * (4.5 if largest > _LARGE_DECODE_GRAPH else 3)
    if launch.role != "decode" and launch.prefill_graph != "disabled":
        reserved += 1536 if launch.uses_latent else launch.prefill_graph_buckets * 8
        if launch.prefill_graph == "breakable" and launch.flags.moe_a2a_backend == "deepep":
            reserved += launch.switches.deepep_prefill_graph_mib
    return reserved


def _vision_applies(launch: Launch) -> bool:
    flags = launch.flags
    if not launch.is_multimodal or launch.shape.vision is None or flags.language_only:
        return False
    return launch.role != "decode" or launch.switches.vision_factor_on_pd_decode


def _vision_factor(launch: Launch) -> float:
    """Share left to the text model, by the size of the vision tower against one of 24 layers of 1024."""
    vision = launch.shape.vision
    layers = 24 if vision is None or vision.layers is None else vision.layers
    hidden = 1024 if vision is None or vision.hidden_size is None else vision.hidden_size
    size_ratio = layers * hidden * hidden / _VISION_REFERENCE
    return 0.95 * max(0.8, min(1.05, 1.0 - (size_ratio - 1) * 0.1))
