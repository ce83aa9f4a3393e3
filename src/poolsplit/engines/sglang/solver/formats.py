"""How a launch stores its KV rows: element sizes, block scales, index keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.costs import KvFormat

if TYPE_CHECKING:
    from poolsplit.engines.sglang.resolved import ResolvedFlags
    from poolsplit.engines.sglang.versions import Switches

_FP4_RECIPES = frozenset({"nvfp4", "fp4_mx_block16"})
ELEMENT_BYTES = {
    "float32": 4,
    "bfloat16": 2,
    "float16": 2,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "mxfp8": 1,
    "nvfp4": 1,
    "fp4_mx_block16": 1,
}


def element_bytes(dtype: str) -> int:
    """Bytes of one stored element; two packed FP4 values count as one.

    Raises:
        UnsupportedModelError: A dtype that is not known.
    """
    try:
        return ELEMENT_BYTES[dtype]
    except KeyError:
        raise UnsupportedModelError(
            f"the dtype `{dtype}` is not known", hint=f"known are {', '.join(ELEMENT_BYTES)}"
        ) from None


def kv_format(resolved: ResolvedFlags, switches: Switches) -> KvFormat:
    """How this launch stores its KV rows."""
    dtype = resolved.kv_dtype
    size = element_bytes(dtype)
    copies = resolved.dcp_size if switches.index_keys_times_dcp else 1
    index_bytes = element_bytes(resolved.qsa_indexer_dtype)
    if dtype == "mxfp8":
        return KvFormat(element_bytes=size, packing="mxfp8", index_copies=copies, index_element_bytes=index_bytes)
    if dtype in _FP4_RECIPES:
        return _fp4_format(resolved, switches, copies)
    return KvFormat(
        element_bytes=size,
        scaled_latent_rows=resolved.scaled_latent_rows and dtype == "fp8_e4m3",
        index_copies=copies,
        index_element_bytes=index_bytes,
    )


def _fp4_format(resolved: ResolvedFlags, switches: Switches, copies: int) -> KvFormat:
    prefill = resolved.prefill_attention_backend or resolved.attention_backend
    decode = resolved.decode_attention_backend or resolved.attention_backend
    if not switches.fp4_by_recipe:
        return KvFormat(element_bytes=1, packing="fp4_legacy", workspace_element_bytes=1, index_copies=copies)
    if resolved.kv_dtype == "fp4_mx_block16":
        return KvFormat(element_bytes=1, packing="fp4_mx_block16", scale_layouts=1, index_copies=copies)
    unpacks = prefill == "flashinfer"
    native = "trtllm_mha" in {prefill, decode}
    linear_scales = unpacks or (native and not resolved.native_fp4_layout)
    native_scales = native and resolved.native_fp4_layout
    return KvFormat(
        element_bytes=1,
        packing="nvfp4",
        scale_layouts=linear_scales + native_scales,
        workspace_element_bytes=1 if unpacks else 0,
        index_copies=copies,
    )
