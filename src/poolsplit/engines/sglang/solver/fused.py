"""Unified memory with a draft: the draft's rows become parts of the target's own entries, and one entry is priced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.sglang.rules.architectures import GIGACHAT, ONE_DRAFT_LAYER, QWEN35_DRAFTS
from poolsplit.engines.sglang.solver.formats import element_bytes
from poolsplit.shapes.costs import kv_heads_per_rank
from poolsplit.shapes.model_shape import FullAttention
from poolsplit.units import align_up

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches
    from poolsplit.shapes.model_shape import DraftShape, ModelShape

ROW_ALIGNMENT_BYTES = 16
ENTRY_ALIGNMENT_BYTES = 32
UNEQUAL_WIDTH_BACKENDS = frozenset({"triton", "fa3", "fa4"})
"""Kernels that carry values of another width than keys."""
_BLOCK_ALGORITHMS = frozenset({"DFLASH", "DSPARK"})
_EAGLE_ALGORITHMS = frozenset({"EAGLE", "EAGLE3"})
_REWRITTEN_HEADS = ONE_DRAFT_LAYER | QWEN35_DRAFTS
"""Families whose own prediction head, unnamed, is one layer of the target's geometry."""


def fused_entry_bytes(
    shape: ModelShape, resolved: ResolvedFlags, switches: Switches, draft: DraftShape | None, host_bytes: int
) -> int | None:
    """Bytes of one entry of the full pool with the draft's rows in it; None where no draft rides along.

    Args:
        shape: The target.
        resolved: The launch.
        switches: The rules of the release.
        draft: The draft checkpoint, when one is named.
        host_bytes: The target's own rows over the stage's layers.

    Source: the engine's placement of fused drafts, run without a card for every family; docs/engine-rules.md#releases.
    """
    lanes = _lanes(shape, resolved, draft)
    attention = shape.attention if draft is None else draft.attention
    if not lanes or not host_bytes or not isinstance(attention, FullAttention):
        return None
    if resolved.dcp_size > 1 or not _draft_backends(resolved) <= switches.fused_draft_backends:
        return None
    compute_dtype = draft.dtype if draft is not None else shape.dtype
    row = _draft_row(attention, resolved, compute_dtype)
    if row is None:
        return None
    return align_up(align_up(host_bytes, ROW_ALIGNMENT_BYTES) + lanes * row, ENTRY_ALIGNMENT_BYTES)


def _lanes(shape: ModelShape, resolved: ResolvedFlags, draft: DraftShape | None) -> int:
    """Draft layers in an entry, one set for each runner; a head of several depths needs a runner for each."""
    if not resolved.enable_unified_memory or (shape.state is None and shape.window is None):
        return 0
    if resolved.speculative_algorithm in _BLOCK_ALGORITHMS:
        return resolved.dflash_draft_layers or 0
    if resolved.speculative_algorithm not in _EAGLE_ALGORITHMS:
        return 0
    runners = resolved.speculative_num_steps or 1 if shape.architecture == GIGACHAT else 1
    if draft is None and shape.architecture in _REWRITTEN_HEADS:
        return runners
    depths = shape.num_nextn_predict_layers if draft is None else draft.num_nextn_predict_layers
    if runners == 1 and (depths or 1) > 1:
        return 0
    return (resolved.eagle_draft_layers or 0) * runners


def _draft_backends(resolved: ResolvedFlags) -> set[str]:
    if resolved.draft_attention_backend is not None:
        return {resolved.draft_attention_backend}
    return _target_backends(resolved)


def _target_backends(resolved: ResolvedFlags) -> set[str]:
    pair = (resolved.prefill_attention_backend, resolved.decode_attention_backend)
    return {backend or resolved.attention_backend for backend in pair}


def _draft_row(attention: FullAttention, resolved: ResolvedFlags, compute_dtype: str) -> int | None:
    """Bytes of one draft layer's row; None where its kernels or its alignment keep it out."""
    drafting = _draft_backends(resolved)
    unequal = attention.head_dim != attention.v_head_dim
    if unequal and not _target_backends(resolved) | drafting <= UNEQUAL_WIDTH_BACKENDS:
        return None
    keeps_own = resolved.speculative_algorithm in _BLOCK_ALGORITHMS and drafting == {"fa4"}
    size = element_bytes(compute_dtype if keeps_own else resolved.kv_dtype)
    heads = kv_heads_per_rank(attention.kv_heads, resolved.attn_tp_size)
    widths = [heads * dim * size for dim in (attention.head_dim, attention.v_head_dim)]
    return sum(widths) if not any(width % ROW_ALIGNMENT_BYTES for width in widths) else None
