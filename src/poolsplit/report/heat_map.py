"""A surface drawn: in a terminal, as SVG and as PNG, from the document alone."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SHADES = " ░▒▓█"
_COLD, _HOT = (26, 32, 68), (252, 216, 96)
_EMPTY = (220, 220, 220)
_CELL_PIXELS = 16
_SVG_FONT = 'font-family="sans-serif" font-size="11"'
_RESET = "\x1b[0m"
_ANSI_STEPS = 5


def heat_map(document: Mapping[str, Any], *, color: bool = False, most_columns: int = 24) -> list[str]:
    """Lines of a heat map: states upwards, KV to the right; `B` is the best split of the budget."""
    slots, tokens = document["state_slots"], document["kv_tokens"]
    keep = _kept(len(tokens), most_columns, _place(tokens, document, "kv_tokens"))
    best = _place(slots, document, "state_slots"), _place(tokens, document, "kv_tokens")
    lines = []
    for row in range(len(slots) - 1, -1, -1):
        cells = [_cell(_heat(document, row, column), best=(row, column) == best, color=color) for column in keep]
        lines.append(f"{_short(slots[row]):>8} |" + "".join(cells))
    lines.append(f"{'slots':>8} +" + "--" * len(keep))
    labels = "".join(f"{_short(tokens[keep[i]]):<10}" for i in range(0, len(keep), 5))
    lines.append(f"{'':>10}{labels} KV tokens".rstrip())
    return lines


def _place(sizes: Sequence[int], document: Mapping[str, Any], name: str) -> int:
    best = document.get("best")
    return sizes.index(best[name]) if best and best[name] in sizes else -1


def _kept(count: int, most: int, best: int) -> list[int]:
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)} | ({best} if best >= 0 else set()))


def _heat(document: Mapping[str, Any], row: int, column: int) -> float | None:
    """Cached tokens of a cell between the least and the most of the surface, 0 to 1."""
    known = [c for line in document["cached_tokens"] for c in line if c is not None]
    cached = document["cached_tokens"][row][column]
    if cached is None or not known:
        return None
    low, high = min(known), max(known)
    return 1.0 if high == low else (cached - low) / (high - low)


def _cell(heat: float | None, *, best: bool, color: bool) -> str:
    text = "B " if best else "  "
    if heat is None:
        return "B " if best else "··"
    if color:
        red, green, blue = (round(255 * part / 255 / 255 * _ANSI_STEPS) for part in _mix(heat))
        return f"\x1b[48;5;{16 + 36 * red + 6 * green + blue}m{text}{_RESET}"
    return text if best else _SHADES[min(int(heat * len(_SHADES)), len(_SHADES) - 1)] * 2


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
    width, height = left + side * len(tokens) + 20, top + side * len(slots) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {_SVG_FONT}>',
        f'<text x="{left}" y="20" font-size="13">Input tokens reused, by state slots and KV tokens</text>',
    ]
    best = _place(slots, document, "state_slots"), _place(tokens, document, "kv_tokens")
    for row in range(len(slots)):
        y = top + side * (len(slots) - 1 - row)
        parts.append(f'<text x="{left - 6}" y="{y + 15}" text-anchor="end">{_short(slots[row])}</text>')
        parts += _svg_row(document, row, (left, y, side), best)
    for column in range(0, len(tokens), 4):
        x = left + side * column
        parts.append(f'<text x="{x}" y="{top + side * len(slots) + 16}">{_short(tokens[column])}</text>')
    parts.append(f'<text x="{left}" y="{top + side * len(slots) + 34}">KV tokens; rows: state slots</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _svg_row(
    document: Mapping[str, Any], row: int, place: tuple[int, int, int], best: tuple[int, int]
) -> Iterator[str]:
    left, y, side = place
    total = max(1, document["input_tokens"])
    for column, cached in enumerate(document["cached_tokens"][row]):
        red, green, blue = _mix(_heat(document, row, column))
        said = "does not fit" if cached is None else f"{cached / total:.2%} reused"
        title = f"{document['state_slots'][row]} slots, {document['kv_tokens'][column]} tokens: {said}"
        title += f" ({document['method'][row][column]})"
        stroke = ' stroke="#d00" stroke-width="2"' if (row, column) == best else ""
        yield (
            f'<rect x="{left + side * column}" y="{y}" width="{side - 1}" height="{side - 1}" '
            f'fill="rgb({red},{green},{blue})"{stroke}><title>{title}</title></rect>'
        )


def heat_png(document: Mapping[str, Any]) -> bytes:
    """The surface as a PNG picture: 16 pixels a cell, states upwards, a red frame around the best split."""
    slots, tokens = document["state_slots"], document["kv_tokens"]
    best = _place(slots, document, "state_slots"), _place(tokens, document, "kv_tokens")
    lines = bytearray()
    for row in range(len(slots) - 1, -1, -1):
        colors = [bytes(_mix(_heat(document, row, column))) for column in range(len(tokens))]
        for y in range(_CELL_PIXELS):
            lines.append(0)
            for column, rgb in enumerate(colors):
                edge = y in {0, _CELL_PIXELS - 1}
                framed = (row, column) == best
                inside = b"\xdd\x00\x00" if framed and edge else rgb
                side = b"\xdd\x00\x00" if framed else rgb
                lines += side + inside * (_CELL_PIXELS - 2) + side
    header = struct.pack(">IIBBBBB", len(tokens) * _CELL_PIXELS, len(slots) * _CELL_PIXELS, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
