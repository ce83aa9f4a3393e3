"""A surface drawn: in a terminal, as SVG and as PNG, from the document alone."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """How a split is marked."""

    letter: str
    text: str
    rgb: tuple[int, int, int]
    svg: str
    """Attributes of its frame."""


_MARKS = {
    "current": _Mark(letter="C", text="current split", rgb=(0, 102, 255), svg='stroke-dasharray="4 2"'),
    "best": _Mark(letter="B", text="best split", rgb=(221, 0, 0), svg=""),
}
"""By field of the document; where two fall together the later one is drawn."""
_SHADES = " ░▒▓█"
_COLD, _HOT = (26, 32, 68), (252, 216, 96)
_EMPTY = (220, 220, 220)
_CELL_PIXELS = 16
_SVG_FONT = 'font-family="sans-serif" font-size="11"'
_RESET = "\x1b[0m"
_ANSI_STEPS = 5


def heat_map(document: Mapping[str, Any], *, color: bool = False, most_columns: int = 24) -> list[str]:
    """Lines of a heat map: states upwards, KV to the right; `B` the best split of the budget, `C` the current one."""
    slots, tokens = document["state_slots"], document["kv_tokens"]
    marked = _marked(document)
    keep = _kept(len(tokens), most_columns, {column for _, column in marked})
    lines = []
    for row in range(len(slots) - 1, -1, -1):
        cells = [_cell(_heat(document, row, column), mark=marked.get((row, column)), color=color) for column in keep]
        lines.append(f"{_short(slots[row]):>8} |" + "".join(cells))
    lines.append(f"{'slots':>8} +" + "--" * len(keep))
    labels = "".join(f"{_short(tokens[keep[i]]):<10}" for i in range(0, len(keep), 5))
    lines.append(f"{'':>10}{labels} KV tokens".rstrip())
    if document.get("current"):
        words = (f"{mark.letter} {text}" for mark, text in _legend(document))
        lines.append(f"{'':>10}" + ", ".join(words))
    return lines


def _legend(document: Mapping[str, Any]) -> list[tuple[_Mark, str]]:
    """The marks with what they mean; two splits in one cell have one mark."""
    marks = [_MARKS[name] for name in ("best", "current") if document.get(name)]
    if len(marks) > len(_marked(document)):
        return [(marks[0], "best and current split")]
    return [(mark, mark.text) for mark in marks]


def _marked(document: Mapping[str, Any]) -> dict[tuple[int, int], _Mark]:
    """Cells that are marked: each split at its own, or at the nearest where the surface has none of its sizes."""
    found = {}
    for name, mark in _MARKS.items():
        split = document.get(name)
        if split:
            row = _nearest(document["state_slots"], split["state_slots"])
            found[row, _nearest(document["kv_tokens"], split["kv_tokens"])] = mark
    return found


def _nearest(sizes: Sequence[int], size: int) -> int:
    return min(range(len(sizes)), key=lambda i: abs(math.log(max(1, sizes[i]) / max(1, size))))


def _kept(count: int, most: int, marked: set[int]) -> list[int]:
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)} | marked)


def _heat(document: Mapping[str, Any], row: int, column: int) -> float | None:
    """Cached tokens of a cell between the least and the most of the surface, 0 to 1."""
    known = [c for line in document["cached_tokens"] for c in line if c is not None]
    cached = document["cached_tokens"][row][column]
    if cached is None or not known:
        return None
    low, high = min(known), max(known)
    return 1.0 if high == low else (cached - low) / (high - low)


def _cell(heat: float | None, *, mark: _Mark | None, color: bool) -> str:
    text = f"{mark.letter} " if mark else "  "
    if heat is None:
        return text if mark else "··"
    if color:
        red, green, blue = (round(255 * part / 255 / 255 * _ANSI_STEPS) for part in _mix(heat))
        return f"\x1b[48;5;{16 + 36 * red + 6 * green + blue}m{text}{_RESET}"
    return text if mark else _SHADES[min(int(heat * len(_SHADES)), len(_SHADES) - 1)] * 2


def _mix(heat: float | None) -> tuple[int, int, int]:
    if heat is None:
        return _EMPTY
    red, green, blue = (round(c + (h - c) * heat) for c, h in zip(_COLD, _HOT, strict=True))
    return red, green, blue


def _short(count: int) -> str:
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if count >= 10 * size or (unit == "M" and count >= size):
            return f"{count / size:.3g}{unit}"
    return str(count)


def heat_svg(document: Mapping[str, Any]) -> str:
    """The surface as an SVG picture of its own, with a title on every cell."""
    slots, tokens = document["state_slots"], document["kv_tokens"]
    side, left, top = 22, 80, 40
    width, height = left + side * len(tokens) + 20, top + side * len(slots) + 64
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_SVG_FONT}>',
        f'<text x="{left}" y="20" font-size="13">Input tokens reused, by state slots and KV tokens</text>',
    ]
    marked = _marked(document)
    for row in range(len(slots)):
        y = top + side * (len(slots) - 1 - row)
        parts.append(f'<text x="{left - 6}" y="{y + 15}" text-anchor="end">{_short(slots[row])}</text>')
        parts += _svg_row(document, row, (left, y, side), marked)
    for column in range(0, len(tokens), 4):
        x = left + side * column
        parts.append(f'<text x="{x}" y="{top + side * len(slots) + 16}">{_short(tokens[column])}</text>')
    parts.append(f'<text x="{left}" y="{top + side * len(slots) + 34}">KV tokens; rows: state slots</text>')
    parts += _svg_legend(document, left, top + side * len(slots) + 52)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_legend(document: Mapping[str, Any], left: int, y: int) -> Iterator[str]:
    for place, (mark, text) in enumerate(_legend(document)):
        x = left + 120 * place
        yield f'<path d="M{x} {y - 9}h10v10h-10z" fill="none" {_frame(mark)}/>'
        yield f'<text x="{x + 16}" y="{y}">{text}</text>'


def _frame(mark: _Mark) -> str:
    return f'stroke="rgb{mark.rgb}" stroke-width="2" {mark.svg}'.rstrip()


def _svg_row(
    document: Mapping[str, Any], row: int, place: tuple[int, int, int], marked: Mapping[tuple[int, int], _Mark]
) -> Iterator[str]:
    left, y, side = place
    total = max(1, document["input_tokens"])
    for column, cached in enumerate(document["cached_tokens"][row]):
        red, green, blue = _mix(_heat(document, row, column))
        said = "does not fit" if cached is None else f"{cached / total:.2%} reused"
        title = f"{document['state_slots'][row]} slots, {document['kv_tokens'][column]} tokens: {said}"
        title += f" ({document['method'][row][column]})"
        mark = marked.get((row, column))
        stroke = f" {_frame(mark)}" if mark else ""
        yield (
            f'<rect x="{left + side * column}" y="{y}" width="{side - 1}" height="{side - 1}" '
            f'fill="rgb({red},{green},{blue})"{stroke}><title>{title}</title></rect>'
        )


def heat_png(document: Mapping[str, Any]) -> bytes:
    """The surface as a PNG picture: 16 pixels a cell, states upwards, the best split framed red, the current blue."""
    slots, tokens = document["state_slots"], document["kv_tokens"]
    marked = _marked(document)
    lines = bytearray()
    for row in range(len(slots) - 1, -1, -1):
        colors = [bytes(_mix(_heat(document, row, column))) for column in range(len(tokens))]
        for y in range(_CELL_PIXELS):
            lines.append(0)
            for column, rgb in enumerate(colors):
                edge = y in {0, _CELL_PIXELS - 1}
                mark = marked.get((row, column))
                side = bytes(mark.rgb) if mark else rgb
                inside = side if edge else rgb
                lines += side + inside * (_CELL_PIXELS - 2) + side
    header = struct.pack(">IIBBBBB", len(tokens) * _CELL_PIXELS, len(slots) * _CELL_PIXELS, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
