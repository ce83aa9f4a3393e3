"""A launch written back with some flags changed and every other character kept."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from poolsplit.engines.sglang.command.flag_table import default_of, find_flag, spelling_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.engines.sglang.command.arguments import Argument
    from poolsplit.engines.sglang.command.launch import LaunchCommand


def with_changes(launch: LaunchCommand, changes: Mapping[str, Any], env: Mapping[str, str] | None = None) -> str:
    """The launch's text with fields set (None or False: taken out) and environment variables added.

    A launch without a command of its own (a logged dump, bare flags) is written as a fresh command.
    """
    if launch.form in {"server_args", "flags"}:
        return _fresh_command(launch, changes, env or {})
    edits: list[tuple[int, int, str]] = []
    for field, value in changes.items():
        edits.extend(_edits_of_field(launch, field, value))
    if env:
        edits.append((launch.launcher_start, launch.launcher_start, _env_prefix(launch, env)))
    text = launch.text
    for start, end, new in sorted(edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def flag_words(field: str, value: Any, release: str) -> list[str]:
    """The words that set one field: none when the value takes the flag away."""
    if value is None or value is False:
        return []
    spelling = spelling_of(field, release)
    if value is True:
        return [spelling]
    values = value if isinstance(value, list | tuple) else [value]
    return [spelling, *(_plain(item) for item in values)]


def _plain(value: Any) -> str:
    """A value as people write it: a whole float without its point."""
    text = str(value)
    return text.removesuffix(".0") if isinstance(value, float) else text


def _edits_of_field(launch: LaunchCommand, field: str, value: Any) -> list[tuple[int, int, str]]:
    present = [item for item in launch.arguments if item.field == field]
    words = flag_words(field, value, launch.release)
    if not present:
        at = launch.arguments[-1].end if launch.arguments else launch.launcher_end
        return [(at, at, _inserted(launch, words))] if words else []
    *doubles, last = present
    edits = [_removal(launch, item) for item in doubles]
    if not words:
        return [*edits, _removal(launch, last)]
    switch = find_flag(last.spelling, launch.release) if last.spelling else None
    if switch is not None and switch.values == "0":
        return edits if switch.sets == value else [*edits, (last.start, last.end, " ".join(words))]
    if len(last.values) == 1 or launch.form == "shell":
        return [*edits, (last.value_start, last.end, _value_text(launch, last, words[1:]))]
    return [*edits, _removal(launch, last), (last.end, last.end, _inserted(launch, words))]


def _value_text(launch: LaunchCommand, argument: Argument, values: list[str]) -> str:
    if launch.form == "shell":
        return " ".join(shlex.quote(value) for value in values)
    old = launch.text[argument.value_start : argument.end]
    quote = old[0] if old[:1] in {'"', "'"} else ""
    if argument.joined:
        return values[0] + (old[-1] if old[-1:] in {'"', "'"} else "")
    return quote + values[0] + quote


def _inserted(launch: LaunchCommand, words: list[str]) -> str:
    if launch.form == "flow_list":
        return "".join(f', "{word}"' for word in words)
    if launch.form == "block_list":
        last = launch.arguments[-1].start if launch.arguments else launch.launcher_start
        return "".join(f"\n{_lead(launch, last)}{_listed(word)}" for word in words)
    line = " ".join(shlex.quote(word) for word in words)
    separator = _separator(launch)
    return separator + line


def _listed(word: str) -> str:
    """An item of a YAML list that stays a string: a bare number is refused where words are expected."""
    return f'"{word}"' if word[:1].isdigit() else word


def _separator(launch: LaunchCommand) -> str:
    """What stands between the last two flags: a space, or a line end with its continuation and indentation."""
    if launch.arguments:
        before = re.search(r"(?:[ \t]*\\?\n[ \t]*|[ \t]+)$", launch.text[: launch.arguments[-1].start])
        if before:
            return before[0]
    return " "


def _lead(launch: LaunchCommand, at: int) -> str:
    line_start = launch.text.rfind("\n", 0, at) + 1
    found = re.match(r"[ \t]*-[ \t]+", launch.text[line_start:])
    return found[0] if found else "- "


def _removal(launch: LaunchCommand, argument: Argument) -> tuple[int, int, str]:
    before = launch.text[: argument.start]
    lead = {"block_list": r"\n[ \t]*-[ \t]+$", "flow_list": r",\s*$"}.get(launch.form, r"(?:[ \t]|\\?\n)+$")
    found = re.search(lead, before)
    return (found.start() if found else argument.start), argument.end, ""


def _env_prefix(launch: LaunchCommand, env: Mapping[str, str]) -> str:
    pairs = [f"{name}={value}" for name, value in env.items()]
    form = launch.launcher_form or launch.form
    if form == "flow_list":
        return "".join(f'"{word}", ' for word in ("env", *pairs))
    if form == "block_list":
        return "".join(f"{word}\n{_lead(launch, launch.launcher_start)}" for word in ("env", *pairs))
    return " ".join(["env", *pairs] if launch.in_container else pairs) + " "


def _fresh_command(launch: LaunchCommand, changes: Mapping[str, Any], env: Mapping[str, str]) -> str:
    values = {"model_path": None, **launch.values, **changes}
    assignments = [f"{name}={shlex.quote(value)}" for name, value in {**launch.env, **env}.items()]
    words = [*assignments, "python -m sglang.launch_server"]
    for field, value in values.items():
        if field in changes or value != default_of(field):
            words.extend(shlex.quote(word) for word in flag_words(field, value, launch.release))
    return " ".join(words)
