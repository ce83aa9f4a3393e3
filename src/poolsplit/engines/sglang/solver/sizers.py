"""Which KV pool a stage gets: one of plain rows, or a full and a window pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.solver.cells import draft_row_bytes, stage_cell_bytes
from poolsplit.engines.sglang.solver.formats import kv_format
from poolsplit.engines.sglang.solver.fused import fused_entry_bytes
from poolsplit.engines.sglang.solver.kv_pool import UNBOUNDED_TOKENS, PlainSizer
from poolsplit.engines.sglang.solver.state_pool import requests_per_worker
from poolsplit.engines.sglang.solver.window_pool import (
    CappedWindowSizer,
    WindowRows,
    WindowSizer,
    request_cap_tokens,
)
from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.costs import attention_row_bytes, own_index_layers
from poolsplit.shapes.model_shape import FullAttention

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.shards import StageRange
    from poolsplit.engines.sglang.solver.kv_pool import KvSizer
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape, WindowAttention


def make_sizers(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    draft: DraftShape | None,
    ranges: tuple[StageRange, ...],
) -> list[KvSizer]:
    """The KV pool's sizer of every stage; stages with the same layers share one."""
    window_ids = shape.window.layer_ids if shape.window is not None else ()
    made: dict[tuple[int, int, int], KvSizer] = {}
    sizers = []
    for stage in ranges:
        kv_ids = stage.of(shape.kv_layer_ids)
        key = (len(kv_ids), stage.count(window_ids), own_index_layers(shape, kv_ids))
        if key not in made:
            made[key] = (
                _plain_sizer(shape, resolved, switches, draft, kv_ids)
                if shape.window is None
                else _window_sizer(shape, resolved, switches, draft, key[:2])
            )
        sizers.append(made[key])
    return sizers


def _plain_sizer(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    draft: DraftShape | None,
    layer_ids: tuple[int, ...],
) -> PlainSizer:
    cell = stage_cell_bytes(shape, resolved, switches, draft, layer_ids)
    rowless: int | None = None
    if switches.handles_no_attention_stage:
        elsewhere = resolved.pp_size > 1 and bool(shape.kv_layer_ids)
        rowless = UNBOUNDED_TOKENS if elsewhere else resolved.max_total_tokens or resolved.context_len
    return PlainSizer(cell_bytes=cell, page_size=resolved.page_size, rowless_tokens=rowless)


def _window_sizer(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    draft: DraftShape | None,
    layers: tuple[int, int],
) -> WindowSizer | CappedWindowSizer:
    window = shape.window
    if window is None or not isinstance(shape.attention, FullAttention):
        raise UnsupportedModelError(
            "window layers beside latent attention are not understood", hint="`poolsplit models` lists what is"
        )
    if not switches.window_layers_by_stage:
        layers = (len(shape.kv_layer_ids), len(window.layer_ids))
    rows = _window_rows(shape, resolved, switches, draft, layers)
    unified = resolved.enable_unified_memory
    search = switches.window_unified_search
    drafted = bool(rows.draft_full_row_bytes or rows.draft_window_row_bytes or rows.draft_row_bytes)
    sizer = WindowSizer(
        rows=rows,
        ratio=resolved.swa_full_tokens_ratio,
        window_tokens=window.window_tokens,
        page_size=resolved.page_size,
        has_full_layers=layers[0] > 0,
        checks_window=not (unified and search == "always"),
        share_per_layer=switches.window_share_per_layer,
        searches=unified and (search == "always" or (search == "with_draft" and drafted)),
    )
    requests = requests_per_worker(resolved, switches)
    if requests is None or not layers[0] or not _caps_window(resolved):
        return sizer
    return CappedWindowSizer(
        base=sizer,
        cap_tokens=request_cap_tokens(resolved, window.window_tokens, requests),
        draft_in_full=switches.window_draft_in_cap,
    )


def _window_rows(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    draft: DraftShape | None,
    layers: tuple[int, int],
) -> WindowRows:
    kv = kv_format(resolved, switches)
    attention, window = shape.attention, shape.window
    if window is None or not isinstance(attention, FullAttention):
        raise UnsupportedModelError(
            "window layers beside latent attention are not understood", hint="`poolsplit models` lists what is"
        )
    # A windowed pool never widens under decode context parallelism, and neither do its heads.
    width = resolved.attn_tp_size
    full_bytes = attention_row_bytes(attention, kv, head_width=width)
    window_bytes = attention_row_bytes(_as_full(window), kv, head_width=width)
    fused = fused_entry_bytes(shape, resolved, switches, draft, full_bytes * layers[0])
    if fused is not None:
        return WindowRows(full_row_bytes=fused, window_layer_bytes=window_bytes, window_layers=layers[1])
    drafts = resolved.eagle_draft_layers or 0
    window_drafts = _window_draft_layers(shape, drafts)
    draft_full = full_bytes * (drafts - window_drafts)
    return WindowRows(
        full_row_bytes=full_bytes * layers[0] + draft_full,
        window_layer_bytes=window_bytes,
        window_layers=layers[1],
        draft_window_row_bytes=window_bytes * window_drafts,
        draft_full_row_bytes=draft_full,
        draft_row_bytes=draft_row_bytes(resolved, switches, draft) or 0,
    )


def _caps_window(resolved: ResolvedFlags) -> bool:
    chunked = resolved.disaggregation_mode == "decode" or resolved.chunked_prefill_size > 0
    return resolved.disable_radix_cache and resolved.max_running_requests is not None and chunked


def _as_full(window: WindowAttention) -> FullAttention:
    return FullAttention(kv_heads=window.kv_heads, head_dim=window.head_dim, v_head_dim=window.v_head_dim)


def _window_draft_layers(shape: ModelShape, drafts: int) -> int:
    """How many of the first `drafts` MTP layers have window geometry."""
    listed = str(dict(shape.extra).get("mtp_local_layer_ids", ""))
    return sum(int(number) < drafts for number in listed.split(",") if number)
