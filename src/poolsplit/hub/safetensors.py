"""Headers of safetensors files: how many bytes of tensors a checkpoint holds, without reading any of them.

A file starts with the header's length in 8 bytes, little endian, then a JSON object that maps each tensor to its
dtype, shape and place. Every number is checked against the file's size before it is believed.

Source: the format's own description.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_LENGTH_BYTES = 8
_MAX_HEADER_BYTES = 100_000_000
_METADATA = "__metadata__"
_BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What one file's header says."""

    tensors: int
    tensor_bytes: int
    bytes_by_dtype: tuple[tuple[str, int], ...]


def read_header(path: Path) -> Header:
    """The header of a file.

    Raises:
        InputError: Not a safetensors file, or a header that does not fit the file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as handle:
            length = int.from_bytes(handle.read(_LENGTH_BYTES), "little")
            if size < _LENGTH_BYTES or not 0 < length <= min(_MAX_HEADER_BYTES, size - _LENGTH_BYTES):
                raise _broken(path, f"its header cannot be {length} bytes long")
            raw = handle.read(length)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check that the file is there and readable"
        ) from None
    return parse_header(raw, data_bytes=size - _LENGTH_BYTES - length, path=path)


def parse_header(raw: bytes, *, data_bytes: int, path: Path) -> Header:
    """The header from its JSON text, checked against the bytes that follow it.

    Raises:
        InputError: Not such a header, or one that does not fit.
    """
    try:
        entries = json.loads(raw)
    except (ValueError, RecursionError):
        raise _broken(path, "its header is not JSON") from None
    if not isinstance(entries, dict):
        raise _broken(path, "its header is not a JSON object")
    spans: list[tuple[int, int]] = []
    by_dtype: dict[str, int] = {}
    for name, entry in entries.items():
        if name == _METADATA:
            continue
        begin, end = _span(name, entry, path)
        spans.append((begin, end))
        by_dtype[entry["dtype"]] = by_dtype.get(entry["dtype"], 0) + end - begin
    _check_cover(spans, data_bytes, path)
    return Header(
        tensors=len(spans), tensor_bytes=sum(by_dtype.values()), bytes_by_dtype=tuple(sorted(by_dtype.items()))
    )


def _span(name: str, entry: Any, path: Path) -> tuple[int, int]:
    if not isinstance(entry, dict):
        raise _broken(path, f"tensor `{name}` is not described")
    dtype = entry.get("dtype")
    bits = _BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        raise _broken(path, f"tensor `{name}` has the unknown dtype {dtype!r}")
    shape, place = _whole_numbers(entry.get("shape")), _whole_numbers(entry.get("data_offsets"))
    if shape is None or place is None or len(place) != 2:  # noqa: PLR2004 - begin and end
        raise _broken(path, f"tensor `{name}` has no proper shape and place")
    begin, end = place
    if (end - begin) * 8 != math.prod(shape) * bits:
        raise _broken(path, f"tensor `{name}` does not fill its place")
    return begin, end


def _check_cover(spans: list[tuple[int, int]], data_bytes: int, path: Path) -> None:
    """Tensors must follow each other without holes up to the end of the file."""
    reached = 0
    for begin, end in sorted(spans):
        if begin != reached:
            raise _broken(path, "its tensors overlap or leave holes")
        reached = end
    if reached != data_bytes:
        raise _broken(path, f"its header describes {reached} bytes of tensors, and {data_bytes} follow")


def _whole_numbers(value: Any) -> list[int] | None:
    if not isinstance(value, list):
        return None
    return value if all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in value) else None


def _broken(path: Path, why: str) -> InputError:
    return InputError(
        f"not a whole safetensors file: {why}", where=str(path), hint="fetch it again, or give the size with --weights"
    )
