"""The argument dump that a server logs at start: `server_args=ServerArgs(a=1, b='x', ...)`."""

from __future__ import annotations

import ast
import re
from typing import Any

from poolsplit.engines.sglang.command.flag_table import default_of

_START = re.compile(r"\bServerArgs\(")
_FIELD = re.compile(r"\s*(?P<name>[a-z_][a-z0-9_]*)\s*=\s*(?P<value>.*)", re.DOTALL)


def find_dumped_args(text: str) -> dict[str, Any] | None:
    """Fields of the last dump in the text that differ from the engine's defaults; None without a dump.

    The dump shows what was asked for and, in some releases, what it resolved to; never what the pools became. A value
    that is not a plain literal is left out.
    """
    starts = list(_START.finditer(text))
    if not starts:
        return None
    values: dict[str, Any] = {}
    for piece in _split_fields(text, starts[-1].end()):
        field = _FIELD.fullmatch(piece)
        if field is None:
            continue
        try:
            value = ast.literal_eval(field["value"].strip())
        except (ValueError, SyntaxError):
            continue
        if value is not None and value != default_of(field["name"]):
            values[field["name"]] = value
    return values


def _split_fields(text: str, start: int) -> list[str]:
    """Pieces between commas of the outermost level, up to the closing bracket or the end of the text."""
    pieces, depth, quote, begin, at = [], 0, "", start, start
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif char == "," and depth == 0:
            pieces.append(text[begin:at])
            begin = at + 1
        at += 1
    return [*pieces, text[begin:at]]
