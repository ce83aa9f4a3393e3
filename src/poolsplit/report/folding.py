"""Long lines of an answer folded to a width, so that columns stay columns and commands stay one line."""

from __future__ import annotations

import re
import textwrap

LEAST_WIDTH = 60
MOST_INDENT_FRACTION = 0.7
TABLE_GAPS = 3
"""Gaps of a line that is a row of figures: it is not folded but under its last column."""
_BULLET = re.compile(r"\s*(?:[-!]{1,2}|refused:)\s+")
_GAP = re.compile(r"\S\s{2,}(?=\S)")
_LAST_GAP = re.compile(r".*\S\s{2,}(?=\S)")
_WORDS = re.compile(r"[A-Za-z]{2,} \S")
_BOUND = "\N{NO-BREAK SPACE}"
"""Stands for a blank that no line ends at."""
_COMMANDS_FOLLOW = "launch:"


def fold(text: str, width: int) -> str:
    """The text with every line of words within a width; pictures and commands to paste keep their lines.

    Args:
        text: The whole answer.
        width: Characters of a line; below 60 counts as 60.
    """
    width = max(LEAST_WIDTH, width)
    folded: list[str] = []
    is_command = False
    for line in text.split("\n"):
        is_command = bool(line) and (is_command or line == _COMMANDS_FOLLOW)
        folded.extend([line] if is_command or len(line) <= width else _folded(line, width))
    return "\n".join(folded)


def _folded(line: str, width: int) -> list[str]:
    indent = _hanging_indent(line, width)
    is_row = len(_GAP.findall(line)) >= TABLE_GAPS and not line[:indent].strip()
    if is_row or not _WORDS.search(line[indent:]):
        return [line]
    bound = line.replace(" %", f"{_BOUND}%")
    lines = textwrap.wrap(bound, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return [each.replace(_BOUND, " ") for each in lines]


def _hanging_indent(line: str, width: int) -> int:
    """Where what is folded goes on: under the last column, under a bullet's text, or a little further in."""
    gap = _LAST_GAP.match(line[:width])
    if gap is not None and gap.end() <= width * MOST_INDENT_FRACTION:
        return gap.end()
    bullet = _BULLET.match(line)
    return bullet.end() if bullet is not None else len(line) - len(line.lstrip()) + 2
