"""How states live in the prefix cache: the strategy, and what it asks of pages, overlap and kernels.

Source: docs/reference/start-up.md#strategy and docs/reference/start-up.md#checks. Runs before pipeline stages end the
overlap schedule, and sees the page size declared so far: an unset one skips the page checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.refusals import refuse
from poolsplit.engines.sglang.rules import architectures as arch

if TYPE_CHECKING:
    from poolsplit.engines.sglang.rules.launch import Launch

_DEFAULT_CHUNK_TOKENS = 64
DEFAULT_TRACK_INTERVAL = 256


def settle_strategy(launch: Launch) -> None:
    """Resolve `auto`, then refuse what does not fit the strategy."""
    _resolve(launch)
    if launch.uses_state_radix:
        if launch.buffered:
            _check_buffered(launch)
        else:
            _check_no_buffer(launch)
    elif launch.buffered and launch.switches.strategy_needs_state_model:
        raise refuse("strategy_needs_state", strategy=launch.strategy, architecture=launch.shape.architecture)


def settle_registry_strategy(launch: Launch) -> None:
    """GigaChat is resolved once more, before the family overrides."""
    if launch.shape.architecture == arch.GIGACHAT:
        settle_strategy(launch)


def _resolve(launch: Launch) -> None:
    name = launch.shape.architecture
    listed = name in arch.STATE_RADIX and name not in launch.switches.outside_radix_lists
    if name == arch.GRANITE:
        listed = launch.shape.state is not None
    if not listed or launch.disable_radix:
        return
    launch.uses_state_radix = True
    if launch.strategy != "auto":
        return
    wants_buffer = not launch.disable_overlap or (launch.page_size or 1) > 1
    if wants_buffer and _takes_buffer(launch):
        launch.strategy = "extra_buffer"
        launch.origins["mamba_radix_cache_strategy"] = (
            "auto: overlap or pages above 1 token, and the model takes buffers"
        )
    else:
        launch.strategy = "no_buffer"
        launch.disable_overlap = True
        launch.origins["mamba_radix_cache_strategy"] = "auto: neither overlap nor pages, or the model takes no buffers"
        launch.origins["disable_overlap_schedule"] = "the no_buffer strategy runs without overlap"


def _takes_buffer(launch: Launch) -> bool:
    name, switches = launch.shape.architecture, launch.switches
    listed = name in arch.EXTRA_BUFFER and name not in switches.outside_radix_lists
    if name in arch.INKLING:
        listed = switches.inkling_in_radix_lists
    return listed and launch.flags.linear_attn_backend in (None, "triton")


def _check_buffered(launch: Launch) -> None:
    if not _takes_buffer(launch):
        raise refuse("extra_buffer_unsupported_arch", architecture=launch.shape.architecture)
    if launch.strategy == "extra_buffer_lazy":
        _check_lazy(launch)
    interval = track_interval(launch)
    if launch.spec_draft_tokens is not None and interval < launch.spec_draft_tokens:
        raise refuse("track_interval_below_draft", interval=interval, draft_tokens=launch.spec_draft_tokens)
    page = launch.page_size
    if page is None:
        return
    if interval % page:
        raise refuse("track_interval_page", interval=interval, page_size=page)
    chunk = _config_chunk(launch)
    if max(chunk, page) % min(chunk, page):
        raise refuse("state_chunk_page", chunk=chunk, page_size=page)


def _check_lazy(launch: Launch) -> None:
    """Roles and speculation that the lazy strategy does not take."""
    refuses = launch.switches.lazy_refuses
    if refuses == "named_draft_tokens":
        if launch.spec_draft_tokens is not None:
            raise refuse("lazy_with_spec")
        return
    if launch.role != "null":
        raise refuse("lazy_with_pd")
    if refuses == "dflash" and launch.speculation == "DFLASH":
        raise refuse("lazy_with_spec")


def _config_chunk(launch: Launch) -> int:
    """Tokens of one state chunk: the config's own where the engine reads it, else 64."""
    return launch.shape.state_chunk_tokens or _DEFAULT_CHUNK_TOKENS


def track_interval(launch: Launch) -> int:
    """Decode tokens between two checkpoints of a running request."""
    asked = launch.flags.mamba_track_interval
    return DEFAULT_TRACK_INTERVAL if asked is None else asked


def _check_no_buffer(launch: Launch) -> None:
    page = launch.page_size
    if page not in (None, 1) and launch.switches.no_buffer_needs_page_one:
        raise refuse("no_buffer_page_size", page_size_words=page)
    if not launch.disable_overlap:
        raise refuse("no_buffer_overlap")
    if launch.attention_backend == "trtllm_mha":
        raise refuse("no_buffer_trtllm_mha")


def check_lmcache(launch: Launch) -> None:
    """What the outside cache does not run with, in the releases that check it."""
    flags = launch.flags
    if not (flags.enable_lmcache and launch.switches.lmcache_checked):
        return
    conflicts = (
        (flags.enable_hierarchical_cache, "the hierarchical cache"),
        (launch.disable_radix, "a radix cache that is off"),
        (launch.speculation is not None, "speculation"),
        (launch.attn_dp_size > 1, "attention data parallelism"),
        (flags.dcp_size > 1, "decode context parallelism"),
        (launch.role != "null", "prefill and decode on different servers"),
    )
    for given, other in conflicts:
        if given:
            raise refuse("lmcache_conflict", other=other)


def check_caches(launch: Launch) -> None:
    """The window ratio's range, and the hierarchical cache without a radix cache."""
    ratio = launch.swa_ratio
    if ratio is not None and not 0 < ratio <= 1:
        raise refuse("swa_ratio_range", ratio=ratio)
    if launch.flags.enable_hierarchical_cache and launch.disable_radix:
        raise refuse("hicache_without_radix")
