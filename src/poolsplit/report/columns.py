"""Plain text in columns: no colour, no box, two blanks between."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Rows under a header, each column as wide as its widest cell.

    Args:
        header: Names of the columns.
        rows: One cell a column.
        right: Numbers of the columns that are aligned to the right.
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
