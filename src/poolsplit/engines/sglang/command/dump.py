"""The argument dump that a server logs at start: `ServerArgs(a=1, ...)`, or `{'a': 1, ...}` since 0.5.19."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from poolsplit.engines.sglang.command.flag_table import default_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_START = re.compile(r"\bServerArgs\(|\bserver_args ?= ?\{")
_FIELD = re.compile(r"\s*['\"]?(?P<name>[a-z_][a-z0-9_]*)['\"]?\s*[=:]\s*(?P<value>.*)", re.DOTALL)


def find_dumped_args(text: str) -> dict[str, Any] | None:
    """Fields of the last dump in the text that differ from the engine's defaults; None without a dump.

    The dump shows what was asked for and, in some releases, what it resolved to; never what the pools became. A value
    that is not a plain literal is left out.
    """
    starts = list(_START.finditer(text))
    if not starts:
        return None
    return asked_for(_fields(text, starts[-1].end()))


def asked_for(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a dump that differ from the engine's defaults; fields that no release knows are left out.

    So are mappings: a launch gives text there, and a resolved mapping is what the engine made of other flags.
    """
    return {
        name: value
        for name, value in values.items()
        if value is not None and not isinstance(value, dict) and default_of(name) not in (value, "absent")
    }


def _fields(text: str, start: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for piece in _split_fields(text, start):
        field = _FIELD.fullmatch(piece)
        if field is None:
            continue
        try:
            values[field["name"]] = ast.literal_eval(field["value"].strip())
        except (ValueError, SyntaxError):
            continue
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
