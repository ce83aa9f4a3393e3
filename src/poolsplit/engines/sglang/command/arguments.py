"""The arguments of a launch: words become flags with values, by the table of what the engine declares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolsplit.engines.sglang.command.flag_table import DeclaredFlag, find_flag, is_declared, near_spellings
from poolsplit.engines.sglang.versions import DEFAULT_VERSION
from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from poolsplit.engines.sglang.command.words import Word

_NUMBER = re.compile(r"-\.?\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One flag of a launch with its values, and where it stands in the text."""

    spelling: str
    field: str | None
    """The engine's field; None when no release declares the flag."""
    values: tuple[str, ...]
    start: int
    end: int
    value_start: int
    """Where the values begin; `end` for a switch."""
    joined: bool
    """Written as `--a=b`."""


def split_engine_flags(
    tokens: Sequence[str], own_options: Container[str], release: str = DEFAULT_VERSION
) -> tuple[list[str], list[str]]:
    """Divides our command line: our options and words, and the engine's flags with their values.

    A name that is both is ours. A flag that nobody declares stays with ours, whose parser names it.
    """
    own: list[str] = []
    engine: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        name = token.partition("=")[0]
        declared = None if name in own_options or not _is_flag(token) else find_flag(name, release)
        if declared is None:
            own.append(token)
            at += 1
            continue
        taken = 1 if "=" in token else 1 + _value_count(declared, tokens[at + 1 :])
        engine.extend(tokens[at : at + taken])
        at += taken
    return own, engine


def _is_flag(token: str) -> bool:
    return token.startswith("-") and len(token) > 1 and not _NUMBER.match(token)


def _value_count(declared: DeclaredFlag, following: Sequence[str]) -> int:
    limit = {"0": 0, "1": 1, "?": 1}.get(declared.values, len(following))
    count = 0
    while count < min(limit, len(following)) and not _is_flag(following[count]):
        count += 1
    return count


def read_arguments(words: Sequence[Word], release: str) -> tuple[tuple[Argument, ...], tuple[str, ...]]:
    """Flags with their values and places, and warnings about those that the release does not declare.

    Raises:
        UsageError: A flag without its value.
    """
    arguments: list[Argument] = []
    warnings: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if not _is_flag(word.value):
            arguments.append(_bare_word(word, first=not arguments))
            at += 1
            continue
        name, equals, joined_value = word.value.partition("=")
        declared = find_flag(name, release)
        warnings.extend(_warn(name, declared, release))
        count = 0 if equals else _count_after(declared, words[at + 1 :])
        if declared is not None and declared.values in {"1", "+"} and not (count or equals):
            raise UsageError(f"`{name}` needs a value", hint=f"write `{name} VALUE` or `{name}=VALUE`")
        taken = words[at + 1 : at + 1 + count]
        end = taken[-1].end if taken else word.end
        arguments.append(
            Argument(
                spelling=name,
                field=declared.field if declared else None,
                values=(joined_value,) if equals else tuple(item.value for item in taken),
                start=word.start,
                end=end,
                value_start=taken[0].start if taken else (word.start + len(name) + 1 if equals else end),
                joined=bool(equals),
            )
        )
        at += 1 + count
    return tuple(arguments), tuple(warnings)


def _count_after(declared: DeclaredFlag | None, words: Sequence[Word]) -> int:
    following = [word.value for word in words]
    if declared is not None:
        return _value_count(declared, following)
    return 1 if following and not _is_flag(following[0]) else 0


def _bare_word(word: Word, *, first: bool) -> Argument:
    """A word without a flag: the model of `sglang serve MODEL` when it comes first, else kept as it is."""
    return Argument(
        spelling="",
        field="model_path" if first else None,
        values=(word.value,),
        start=word.start,
        end=word.end,
        value_start=word.start,
        joined=False,
    )


def _warn(name: str, declared: DeclaredFlag | None, release: str) -> list[str]:
    if declared is None:
        near = near_spellings(name, release)
        meant = f"; did you mean `{near[0]}`?" if near else ""
        return [f"`{name}` is not a flag of any known release, and the engine stops at one: kept as it is{meant}"]
    if not declared.covers(release) and is_declared(name):
        span = f"{declared.first_release} to {declared.last_release}"
        return [f"`{name}` is a flag of {span}, not of {release}: read as {declared.field}"]
    return []


def values_of(arguments: Sequence[Argument], release: str) -> dict[str, Any]:
    """Field to value, the last one given.

    Raises:
        UsageError: A value that is not of its flag's kind.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.field is None:
            continue
        declared = find_flag(argument.spelling, release) if argument.spelling else None
        values[argument.field] = _value(argument, declared)
    return values


def _value(argument: Argument, declared: DeclaredFlag | None) -> Any:
    if declared is None:
        return argument.values[0]
    if declared.values == "0":
        return declared.sets
    converted = [_convert(text, declared) for text in argument.values]
    if declared.values in {"+", "*"}:
        return tuple(converted)
    return converted[0] if converted else declared.sets


def _convert(text: str, declared: DeclaredFlag) -> Any:
    value: int | float | str = text
    if declared.kind in {"int", "float"}:
        try:
            value = int(text) if declared.kind == "int" else float(text)
        except ValueError:
            article = "a whole number" if declared.kind == "int" else "a number"
            raise UsageError(
                f"`{text}` is not {article}", where=declared.spelling, hint=f"`{declared.spelling} 1`"
            ) from None
    if declared.choices and value not in declared.choices:
        raise _not_a_choice(text, declared)
    return None if text.lower() in {"none", "null"} and declared.default is None else value


def _not_a_choice(text: str, declared: DeclaredFlag) -> UsageError:
    """The engine's parser takes a fixed list of values; the near ones come first, then as many as a line holds."""
    from difflib import get_close_matches

    names = [str(choice) for choice in declared.choices]
    begun = sorted(name for name in names if text and name.startswith(text))
    near = list(dict.fromkeys((*begun, *get_close_matches(text, names, n=2))))[:2]
    hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}? It takes" if near else "it takes"
    return UsageError(
        f"`{text}` is not a value of `{declared.spelling}`",
        hint=f"{hint} {', '.join(names)}",
    )
