"""Inner loops of reading, compiled by numba: integers and flat arrays only.

Importing this module imports numba, so do it where the work is done. Machine code is kept on disk between runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from poolsplit.traces.trace import Ints

_COMMA, _OPEN, _CLOSE, _QUOTE, _MINUS, _ZERO, _NINE = 44, 91, 93, 34, 45, 48, 57
_WHITESPACE_END = 32
_LARGEST_SAFE = (2**60 - 1 - 9) // 10
_MIX_NODE = np.uint64(0x9E3779B97F4A7C15)
_MIX_ID = np.uint64(0xC2B2AE3D27D4EB4F)
_FOLD_BITS = np.uint64(29)
_ONE = np.uint64(1)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as machine code, kept on disk where there is a folder for it."""
    compiled: Callable[..., Any]
    try:
        compiled = njit(cache=True)(function)
    except RuntimeError:  # NOTE: numba raises it when neither this folder nor the user's can be written
        compiled = njit(function)
    return compiled


def _parse_id_arrays(text: NDArray[np.uint8], ids: Ints, ends: Ints) -> int:  # noqa: C901 -- one state machine
    """Reads JSON arrays of whole numbers that stand one behind the other, such as `[1,2][3]`.

    Numbers may be quoted. The caller has checked that the text is valid JSON.

    Shapes:
        text: (bytes,)
        ids: at least one place for each number
        ends: (arrays,), filled with the count of ids up to the end of each array

    Returns:
        -1, or the position of a byte that does not belong to a whole number below 2^60.
    """
    count = row = 0
    value = -1
    sign = 1
    inside = ended = quoted = behind_comma = False
    for position in range(text.size):
        byte = text[position]
        if _ZERO <= byte <= _NINE:
            if value > _LARGEST_SAFE or ended or not inside:
                return position
            value = max(value, 0) * 10 + (byte - _ZERO)
        elif byte in (_COMMA, _CLOSE):
            if value >= 0:
                ids[count] = value * sign
                count += 1
            elif byte == _COMMA or quoted or behind_comma:
                return position
            value = -1
            sign = 1
            ended = quoted = False
            behind_comma = byte == _COMMA
            if byte == _CLOSE:
                inside = False
                ends[row] = count
                row += 1
        elif byte == _OPEN and not inside:
            inside = True
        elif byte == _MINUS and value < 0:
            sign = -1
        elif byte == _QUOTE or byte <= _WHITESPACE_END:
            quoted = quoted or byte == _QUOTE
            ended = value >= 0
        else:
            return position
    return -1


def _find_slot(table: Ints, node: int, raw: int) -> Any:
    """Slot of the block `raw` behind `node`, or the empty slot where it belongs."""
    mask: Any = np.uint64(table.shape[1] - 1)
    mixed: Any = np.uint64(node) * _MIX_NODE ^ np.uint64(raw) * _MIX_ID
    slot = (mixed ^ (mixed >> _FOLD_BITS)) & mask
    while table[2, slot] >= 0 and (table[0, slot] != node or table[1, slot] != raw):
        slot = (slot + _ONE) & mask
    return slot


find_slot = _compiled(_find_slot)


def _maker_of(first_nodes: Ints, rows: int, node: int) -> int:
    """The row, out of the first `rows`, that made a node: the last one whose first node is not above it."""
    low = 0
    high = rows
    while high - low > 1:
        middle = (low + high) // 2
        if first_nodes[middle] <= node:
            low = middle
        else:
            high = middle
    return low


maker_of = _compiled(_maker_of)


def _fold_rows(batch: tuple[Ints, Ints, Ints], begin: int, base: int, table: Ints, columns: Ints, path: Ints) -> int:
    """Enters prompts into the prefix tree and writes parent, kept and new blocks of each row.

    The tree lives in `table`, open addressing on (node before, raw id). A node is a block behind its whole prefix;
    nodes are numbered as they come, so the new nodes of a row are one range.

    Shapes:
        batch: ids of the prompts one behind the other; where each ends (rows,); scope of each (rows,)
        table: (3, capacity), a power of two: node before, raw id, node; empty where the node is -1
        columns: (4, all rows): first node, parent, kept blocks, new blocks
        path: (longest prompt + 1,), scratch: nodes of the row before; the last place counts the used slots

    Returns:
        The batch row before which the table must grow (then go on with it as `begin`), or the number of rows.
    """
    ids, ends, scopes = batch
    capacity = table.shape[1]
    next_node = 0
    if base + begin > 0:
        next_node = columns[0, base + begin - 1] + columns[3, base + begin - 1]
    before_at = before_length = 0
    before_scope = -1
    for batch_row in range(begin, ends.size):
        at = ends[batch_row - 1] if batch_row > 0 else 0
        length = ends[batch_row] - at
        if (path[-1] + length) * 2 > capacity:
            return batch_row
        row = base + batch_row
        node = -1 - scopes[batch_row]
        depth = 0
        if scopes[batch_row] == before_scope:
            limit = min(length, before_length)
            while depth < limit and ids[at + depth] == ids[before_at + depth]:
                depth += 1
            if depth > 0:
                node = path[depth - 1]
        while depth < length:
            slot = find_slot(table, node, ids[at + depth])
            if table[2, slot] < 0:
                break
            node = table[2, slot]
            path[depth] = node
            depth += 1
        columns[0, row] = next_node
        columns[1, row] = maker_of(columns[0], row, node) if depth > 0 else -1
        columns[2, row] = depth
        columns[3, row] = length - depth
        path[-1] += length - depth
        while depth < length:
            slot = find_slot(table, node, ids[at + depth])
            table[0, slot] = node
            table[1, slot] = ids[at + depth]
            table[2, slot] = next_node
            node = next_node
            path[depth] = node
            next_node += 1
            depth += 1
        before_scope = scopes[batch_row]
        before_at = at
        before_length = length
    return int(ends.size)


def _grow_table(old: Ints, new: Ints) -> None:
    """Enters every node of one table into a larger, empty one.

    Shapes:
        old, new: (3, capacity), powers of two
    """
    for index in range(old.shape[1]):
        if old[2, index] >= 0:
            slot = find_slot(new, old[0, index], old[1, index])
            new[:, slot] = old[:, index]


parse_id_arrays = _compiled(_parse_id_arrays)
fold_rows = _compiled(_fold_rows)
grow_table = _compiled(_grow_table)
