"""Words of a pasted launch, each with its place in the text, so that an edit touches nothing else.

Three ways of writing a command are read: a shell line (with continuations and quotes), a YAML block list and a YAML
flow list. All give the same `Words`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

WordForm = Literal["shell", "block_list", "flow_list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One argument as the process receives it, and where it stands."""

    value: str
    start: int
    end: int
    ends_command: bool = False
    """An operator or a line end: nothing after it belongs to the same command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one text, in order."""

    form: WordForm
    """How the flags are written."""
    launcher_form: WordForm
    """How the launcher's own words are written: another key of a file may hold the flags."""
    items: tuple[Word, ...]
    in_file: bool = False
    """Whether a key of a file holds the launch: no shell then reads it."""


_YAML_KEY = re.compile(r"^(?P<lead>[ \t]*(?:- )?)(?P<name>command|args|entrypoint):[ \t]*(?P<rest>.*)$", re.MULTILINE)
_FLAGS_KEY = {"entrypoint": "command", "command": "args"}
"""Key whose words follow another's: of a compose service, and of a pod's container."""
_ITEM = re.compile(r"^(?P<lead>[ \t]*-[ \t]+)(?P<item>.*?)[ \t]*$", re.MULTILINE)
_FLOW_ITEM = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,\[\]]+?)\s*(?=[,\]])""")
_OPERATOR = re.compile(r"&&|\|\||2?>&?\d?|<|\||;|&")


def read_words(text: str, launcher: re.Pattern[str]) -> Words:
    """Words of a text that holds a launch somewhere; `launcher` finds it.

    A YAML `command:` whose value is a list is read as a list; everything else is read as a shell line. Where one key
    holds the launcher and the next its flags, both are read.
    """
    keys = tuple(_YAML_KEY.finditer(text))
    for key in keys:
        form, items = _words_of_key(text, key)
        if not launcher.search(" ".join(word.value for word in items)):
            continue
        flags = next((other for other in keys if _holds_flags_of(text, key, other)), None)
        flags_form, added = (form, []) if flags is None else _words_of_key(text, flags)
        return Words(form=flags_form if added else form, launcher_form=form, items=(*items, *added), in_file=True)
    return Words(form="shell", launcher_form="shell", items=tuple(shell_words(text, 0, len(text), folded=False)))


def _words_of_key(text: str, key: re.Match[str]) -> tuple[WordForm, list[Word]]:
    """The value of one key, as it is written."""
    end, rest = _block_end(text, key), key["rest"].strip()
    if rest.startswith("["):
        return "flow_list", _flow_words(text, text.index("[", key.start("rest")) + 1)
    if not rest and (listed := _block_words(text, key.end(), end)):
        return "block_list", listed
    start = key.end() if rest[:1] in {"", "|", ">"} else key.start("rest")
    if len(rest) > 1 and rest[0] in "'\"" and rest.endswith(rest[0]) and rest.count(rest[0]) == 2:  # noqa: PLR2004 -- a pair
        start, end = start + 1, start + len(rest) - 1
    return "shell", shell_words(text, start, end, folded=True)


def _holds_flags_of(text: str, key: re.Match[str], other: re.Match[str]) -> bool:
    """Whether another key of the same mapping holds the flags of the launcher in this one."""
    if other["name"] != _FLAGS_KEY.get(key["name"]) or len(other["lead"]) != len(key["lead"]):
        return False
    first, last = sorted((key, other), key=lambda found: found.start())
    between = text[first.end() : last.end()].splitlines()
    return all(len(line) - len(line.lstrip()) >= len(key["lead"]) for line in between if line.strip())


def shell_words(text: str, start: int, end: int, *, folded: bool) -> list[Word]:
    """Words of a shell text; in a folded block a line end is a space.

    A line end also counts as a space when the next line begins with a dash: pastes lose their backslashes.
    """
    words: list[Word] = []
    at = start
    while at < end:
        char = text[at]
        if char == "\n":
            if not folded and words and not _next_line_continues(text, at, end):
                words.append(Word(value="\n", start=at, end=at + 1, ends_command=True))
            at += 1
        elif char.isspace():
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif char == "#":
            at = _line_end(text, at, end)
        elif operator := _OPERATOR.match(text, at, end):
            words.append(Word(value=operator[0], start=at, end=operator.end(), ends_command=True))
            at = operator.end()
        else:
            word = _shell_word(text, at, end)
            words.append(word)
            at = word.end
    return words


def _next_line_continues(text: str, at: int, end: int) -> bool:
    return text[at:end].lstrip().startswith("-")


def _line_end(text: str, at: int, end: int) -> int:
    found = text.find("\n", at, end)
    return end if found < 0 else found


def _shell_word(text: str, start: int, end: int) -> Word:
    parts: list[str] = []
    at = start
    while at < end and not text[at].isspace() and text[at] not in ";|&<>":
        char = text[at]
        if char in "'\"":
            close = _closing_quote(text, at, end)
            inner = text[at + 1 : close]
            parts.append(re.sub(r'\\(["\\$`\n])', r"\1", inner) if char == '"' else inner)
            at = close + 1
        elif char == "\\" and at + 1 < end:
            if text[at + 1] == "\n":
                break
            parts.append(text[at + 1])
            at += 2
        else:
            parts.append(char)
            at += 1
    return Word(value="".join(parts), start=start, end=min(max(at, start + 1), end))


def _closing_quote(text: str, at: int, end: int) -> int:
    quote = text[at]
    close = at + 1
    while close < end and text[close] != quote:
        close += 2 if quote == '"' and text[close] == "\\" else 1
    return min(close, end)


def _block_end(text: str, key: re.Match[str]) -> int:
    indent = len(key["lead"])
    at = key.end()
    while at < len(text):
        line_end = _line_end(text, at + 1, len(text))
        line = text[at + 1 : line_end]
        lead = len(line) - len(line.lstrip())
        if line.strip() and (lead < indent or (lead == indent and not line.lstrip().startswith("- "))):
            return at
        at = line_end
    return len(text)


def _block_words(text: str, start: int, end: int) -> list[Word]:
    words = []
    for item in _ITEM.finditer(text, start, end):
        value = item["item"]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        words.append(Word(value=value, start=item.start("item"), end=item.start("item") + len(item["item"])))
    return words


def _flow_words(text: str, start: int) -> list[Word]:
    words, at = [], start
    while item := _FLOW_ITEM.match(text, at):
        value = item[1]
        words.append(Word(value=value.strip("'\""), start=item.start(1), end=item.end(1)))
        at = item.end()
        if text[at] == "]":
            break
        at += 1
    return words
