"""Known models whose bytes fit a log that names none: fits, never is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_report import CatalogMatch
from poolsplit.engines.sglang.boot_log.requests import rank_count, sharing_workers
from poolsplit.errors import PoolsplitError
from poolsplit.hub import find_model
from poolsplit.shapes import catalog
from poolsplit.shapes.costs import KvFormat, StateFormat, kv_bytes_per_token, state_layer_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_report import BootReport, RankReport
    from poolsplit.shapes.model_shape import ModelShape

WIDTHS = (1, 2, 4, 8, 16, 32)
_STATE_DTYPES = {"float32": 4, "bfloat16": 2}
_KV_DTYPES = {"bfloat16": 2, "float16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
_PRINTED_KV = {"float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float8_e4m3fnuz": "fp8_e4m3"}
CONV_ELEMENT_BYTES = 2


def catalog_matches(boot: BootReport) -> tuple[CatalogMatch, ...]:
    """Embedded models whose slot and row bytes lie inside what the first complete rank prints."""
    rank = next((each for each in boot.pool_ranks if each.kv_bytes_per_token and each.ssm_bytes_per_slot), None)
    if rank is None or boot.unified is not None or any("PP" in label for label in boot.ranks):
        return ()
    least_width = _ranks_seen(boot)
    shapes = (find_model(name).shape for name in catalog.ids())
    return tuple(
        match for shape in shapes for width in WIDTHS if width >= least_width for match in _fits(shape, width, rank)
    )


def _fits(shape: ModelShape, width: int, rank: RankReport) -> Iterator[CatalogMatch]:
    if shape.state is None or shape.attention is None or shape.window is not None:
        return
    layers, kv_layers = len(shape.state_layer_ids), len(shape.kv_layer_ids)
    for state_dtype, state_bytes in _STATE_DTYPES.items():
        try:
            form = StateFormat(width=width, conv_element_bytes=CONV_ELEMENT_BYTES, state_element_bytes=state_bytes)
            conv, ssm = (size * layers for size in state_layer_bytes(shape.state, form))
        except PoolsplitError:
            return
        if not (_holds(rank.conv_bytes_per_slot, conv) and _holds(rank.ssm_bytes_per_slot, ssm)):
            continue
        for kv_dtype in _kv_dtypes(rank):
            form_kv = KvFormat(element_bytes=_KV_DTYPES[kv_dtype])
            row = kv_bytes_per_token(shape, form_kv, head_width=width, layers=kv_layers)
            if _holds(rank.row_bytes(0), row):
                yield CatalogMatch(
                    model=shape.name,
                    tensor_parallel=width,
                    state_dtype=state_dtype,
                    kv_dtype=kv_dtype,
                    state_bytes_per_slot=conv + ssm,
                    kv_bytes_per_token=row,
                )


def _holds(interval: object, value: int) -> bool:
    from poolsplit.engines.boot_report import Interval

    return isinstance(interval, Interval) and interval.low - 1 <= value <= interval.high + 1


def _kv_dtypes(rank: RankReport) -> tuple[str, ...]:
    """The printed dtype; both element sizes where none is printed."""
    printed = (rank.kv[0].dtype or "").removeprefix("torch.")
    name = _PRINTED_KV.get(printed, printed)
    if name in _KV_DTYPES:
        return (name,)
    return () if printed else ("bfloat16", "fp8_e4m3")


def _ranks_seen(boot: BootReport) -> int:
    """Tensor-parallel ranks that the labels show, shared by the data-parallel workers; the least width there can be."""
    return max(1, rank_count(boot.ranks, "TP") // sharing_workers(boot.ranks))
