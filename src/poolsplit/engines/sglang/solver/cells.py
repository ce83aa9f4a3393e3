"""Bytes of one KV row on one stage: how rows are stored, and what a draft adds to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.shards import kv_head_width
from poolsplit.engines.sglang.solver import refused
from poolsplit.engines.sglang.solver.formats import element_bytes, kv_format
from poolsplit.engines.sglang.solver.fused import fused_entry_bytes
from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.costs import (
    KvFormat,
    attention_row_bytes,
    index_bytes_per_token,
    kv_bytes_per_token,
    own_index_layers,
)
from poolsplit.shapes.model_shape import FullAttention, LatentAttention
from poolsplit.units import ceil_div

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape


def stage_cell_bytes(
    shape: ModelShape,
    resolved: ResolvedFlags,
    switches: Switches,
    draft: DraftShape | None,
    layer_ids: tuple[int, ...],
) -> int:
    """Bytes of one KV row over the stage's attention layers, with what a draft adds; 0 without any.

    Source: the engine's cell sizes of each release; held by the golden answers.
    """
    kv = kv_format(resolved, switches)
    layers, indexed = len(layer_ids), own_index_layers(shape, layer_ids)
    width = kv_head_width(resolved, switches)
    if width < 1 and not shape.is_latent:
        raise refused.context_ranks_above_attention(resolved.dcp_size, resolved.attn_tp_size)
    cell = kv_bytes_per_token(shape, kv, head_width=width, layers=layers, indexed_layers=indexed)
    if not layers:
        return cell
    fused = fused_entry_bytes(shape, resolved, switches, draft, cell)
    if fused is not None:
        return fused
    if resolved.eagle_draft_layers:
        return _with_shared_geometry(shape, resolved, switches, (cell, layers, indexed))
    if resolved.dflash_draft_layers:
        return _with_own_geometry(resolved, switches, draft, (cell, layers))
    return cell


def draft_row_bytes(resolved: ResolvedFlags, switches: Switches, draft: DraftShape | None) -> int | None:
    """KV bytes of one token of a draft with rows of its own (DFLASH, DSPARK), copies over DCP ranks included.

    None when the release scales the target's rows instead.
    """
    layers = resolved.dflash_draft_layers
    if switches.dflash_draft_kv != "own" or not layers:
        return None
    if draft is None or not isinstance(draft.attention, FullAttention):
        raise UnsupportedModelError(
            "the draft's own attention heads are needed to price its KV rows",
            hint="name a draft checkpoint with key and value heads",
        )
    kv = KvFormat(element_bytes=element_bytes(resolved.draft_kv_dtype or resolved.kv_dtype))
    width = _draft_width(resolved, switches)
    return attention_row_bytes(draft.attention, kv, head_width=width) * layers * resolved.dcp_size


def _draft_width(resolved: ResolvedFlags, switches: Switches) -> int:
    """Ranks that share the heads of a draft with rows of its own."""
    over_context = (
        switches.dflash_draft_over_context_ranks
        and resolved.speculative_algorithm == "DFLASH"
        and resolved.attn_cp_size > 1
        and resolved.attn_dp_size == 1
    )
    return resolved.tp_size if switches.draft_over_all_ranks or over_context else resolved.attn_tp_size


def _with_shared_geometry(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, target: tuple[int, int, int]
) -> int:
    """A draft whose layers are priced like the target's own."""
    cell, layers, indexed = target
    drafts = resolved.eagle_draft_layers or 0
    attention = shape.attention
    if isinstance(attention, LatentAttention) and attention.index is not None:
        kv = kv_format(resolved, switches)
        rows = cell - index_bytes_per_token(attention, kv, indexed)
        return cell + int(rows * drafts / layers) * kv.index_copies + index_bytes_per_token(attention, kv, drafts)
    if switches.draft_kv_added:
        return cell + int(cell * drafts / layers)
    return int(cell * (1 + drafts / layers))


def _with_own_geometry(
    resolved: ResolvedFlags, switches: Switches, draft: DraftShape | None, target: tuple[int, int]
) -> int:
    """A draft with heads of its own, or with a share of the target's in the releases that did not look."""
    cell, layers = target
    own = draft_row_bytes(resolved, switches, draft)
    if own is not None:
        return cell + own
    drafts = (resolved.dflash_draft_layers or 0) * (
        resolved.dcp_size if switches.dflash_draft_kv == "scaled_dcp" else 1
    )
    return ceil_div(cell * (layers + drafts), layers)
