"""Block ids of rows as integers: whole numbers as they are, other ids by their digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from poolsplit.traces.builder import misfit_blocks
from poolsplit.traces.prefix_fold import parse_ids
from poolsplit.traces.reading import UNREADABLE, Rows, reject_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.traces.reading import Faults
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints

_USUAL_SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
_OPEN_BRACKET = ord("[")


def fitting_ids(
    source: Source, rows: Rows[Any], block_tokens: int, faults: Faults, *, required: bool = True
) -> tuple[Rows[Any], Ints, Ints]:
    """Ids of rows that have `hash_ids` and `input_length`, the rows kept, and where each row's ids end.

    Shapes:
        result: rows, (ids,), (rows,)

    Raises:
        TraceFormatError: An id that is none, or a number of ids that does not belong to the number of tokens.
    """
    rows, ids, ends = row_ids(source, rows, [row.hash_ids for row in rows.rows], faults)
    lengths = np.array([row.input_length for row in rows.rows], dtype=np.int64)
    blocks = np.diff(ends, prepend=0)
    bad = misfit_blocks(lengths, blocks, block_tokens) if required else np.zeros(0, dtype=np.int64)
    if not bad.size:
        return rows, ids, ends
    reasons = {int(i): ("$.hash_ids", _misfit(int(blocks[i]), int(lengths[i]), block_tokens)) for i in bad}
    rows = reject_rows(source, rows, reasons, faults)
    return row_ids(source, rows, [row.hash_ids for row in rows.rows], faults)


def row_ids(
    source: Source, rows: Rows[Any], arrays: Sequence[msgspec.Raw], faults: Faults, *, field: str = "hash_ids"
) -> tuple[Rows[Any], Ints, Ints]:
    """Ids of each row's JSON array, the rows kept, and where each row's ids end.

    Shapes:
        result: rows, (ids,), (rows,)

    Raises:
        TraceFormatError: Something in an array is neither a whole number nor a string.
    """
    ids, ends, bad = raw_ids(arrays)
    if not bad:
        return rows, ids, ends
    reasons = {place: (f"$.{field}{path}", message) for place, (path, message) in bad.items()}
    rows = reject_rows(source, rows, reasons, faults)
    ids, ends, _ = raw_ids([array for place, array in enumerate(arrays) if place not in bad])
    return rows, ids, ends


def raw_ids(arrays: Sequence[msgspec.Raw]) -> tuple[Ints, Ints, dict[int, tuple[str, str]]]:
    """Ids of JSON arrays, where each array ends, and the arrays that hold something else: path and message.

    Shapes:
        result: (ids,), (len(arrays),), by place
    """
    views = [memoryview(array) for array in arrays]
    if all(view and view[0] == _OPEN_BRACKET for view in views):
        parsed = parse_ids(views)
        if parsed is not None:
            return *parsed, {}
    decoder = msgspec.json.Decoder(list[int | str])
    bad: dict[int, tuple[str, str]] = {}
    lists: list[list[int]] = []
    for place, array in enumerate(arrays):
        values: list[int | str] = []
        try:
            values = decoder.decode(array)
        except UNREADABLE as error:
            message, _, path = str(error).partition(" - at `$")
            bad[place] = (path.removesuffix("`"), message)
        lists.append([_as_int(value) for value in values])
    ends = np.cumsum([len(ids) for ids in lists], dtype=np.int64)
    return np.array([value for ids in lists for value in ids], dtype=np.int64), ends, bad


def _as_int(value: int | str) -> int:
    """A whole number of 61 bits for any id: itself, or 60 bits of its digest.

    Known error: among a million different string ids, two fall together with probability 4e-7.
    """
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        value = int(value)
    if isinstance(value, int) and abs(value) < 1 << 60:
        return value
    from hashlib import blake2b

    digest = blake2b(str(value).encode(), digest_size=8).digest()
    return (1 << 60) + (int.from_bytes(digest) >> 4)


def _misfit(blocks: int, tokens: int, block_tokens: int) -> str:
    sizes = [size for size in _USUAL_SIZES if blocks in {tokens // size, -(-tokens // size)}]
    fits = ""
    if sizes:
        named = " or ".join(map(str, sizes))
        fits = f"; blocks of {named} would fit (`poolsplit trace convert FILE --block-tokens {sizes[0]} -o FILE.pst`)"
    return f"{blocks} ids do not cover {tokens} tokens in blocks of {block_tokens}{fits}"
