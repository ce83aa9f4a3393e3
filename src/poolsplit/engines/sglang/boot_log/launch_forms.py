"""What the server was asked for: dumps of its arguments, and launch commands."""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Launch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

MAX_VALUE_CHARS = 4_000

_ARGUMENTS = re.compile(r"server_args ?= ?(?:ServerArgs\(|\{)")
_COMMAND = re.compile(r"(?:-m\s+)?sglang(?:\.launch_server|\s+serve)\b")
_NAME = re.compile(r"\s*['\"]?([A-Za-z_]\w*)['\"]?\s*[=:]\s*(.*)", re.DOTALL)
_PLAIN_WORD = re.compile(r"[A-Za-z_/][\w./-]*")
"""A name or a path, which no literal looks like, but for three words."""
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False}
_OPEN, _CLOSE = "([{", ")]}"

ALIASES = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "ep": "ep_size",
    "dcp": "dcp_size",
    "model": "model_path",
    "max_mamba_cache_size": "max_mamba_cache_size",
}


def arguments(record: Record) -> Fact | None:
    """`server_args=ServerArgs(...)` up to 0.5.18, `server_args={...}` from 0.5.19; cut ones give what is whole."""
    text = record.squeezed if record.wrapped else record.text
    match = _ARGUMENTS.search(text)
    if not match:
        return None
    values: dict[str, object] = {}
    for item in _items(text[match.end() :]):
        named = _NAME.fullmatch(item)
        if named and len(named[2]) <= MAX_VALUE_CHARS:
            values[named[1]] = _literal(named[2].strip())
    values["_form"] = "call" if "ServerArgs" in match[0] else "mapping"
    return Launch(form="arguments", values=values)


def command(record: Record) -> Fact | None:
    """A launch line, as scripts echo it or people paste it above the log."""
    match = _COMMAND.search(record.text)
    if not match or "--" not in record.text[match.end() :]:
        return None
    rest = record.text[match.end() :].replace("\\ ", " ").rstrip("\\ ")
    tokens = _words(rest)
    return Launch(form="command", values=dict(_flags(tokens)), command=tuple(tokens))


def _words(text: str) -> list[str]:
    """The words of a shell line; quotes are only looked at where there are any."""
    if not {"'", '"', "\\"} & set(text):
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _items(text: str) -> Iterator[str]:
    """The comma-separated items of one bracket, up to its end; an item that is cut off is left out."""
    depth, quote, start, skip = 0, "", 0, False
    for at, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and depth == 0:
            yield text[start:at]
            return
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:at]
            start = at + 1


def _flags(tokens: list[str]) -> Iterator[tuple[str, object]]:
    for at, token in enumerate(tokens):
        if not token.startswith("--") or len(token) <= len("--"):
            continue
        name, equals, value = token[2:].partition("=")
        key = name.replace("-", "_")
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if equals:
            yield ALIASES.get(key, key), _literal(value)
        elif following is not None and not following.startswith("--"):
            yield ALIASES.get(key, key), _literal(following)
        else:
            yield ALIASES.get(key, key), True


def _literal(text: str) -> object:
    """A Python literal where the text is one, else the text itself."""
    if len(text) > MAX_VALUE_CHARS:
        return text[:MAX_VALUE_CHARS]
    if _PLAIN_WORD.fullmatch(text):
        return _WORDS.get(text, text)
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
    return value if isinstance(value, (str, int, float, bool, list, tuple, dict, type(None))) else text
