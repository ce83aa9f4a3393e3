"""The options of one of our commands, told from its signature: the parser's own way builds its whole model twice."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def own_options(command: Callable[..., Any]) -> set[str]:
    """Every spelling of every option that a command takes; held against the parser's own list by a test."""
    hints = get_type_hints(command, include_extras=True)
    found: set[str] = set()
    for parameter in inspect.signature(command).parameters.values():
        found.update(_spellings(parameter.name, hints[parameter.name]))
    return found


def takes_launch(command: Callable[..., Any]) -> bool:
    """Whether a command accepts engine flags and a pasted launch."""
    return "launch" in inspect.signature(command).parameters


def _spellings(name: str, annotation: Any) -> Iterator[str]:
    plain, settings = _apart(annotation)
    if any(setting.parse is False for setting in settings):
        return
    if dataclasses.is_dataclass(plain):
        hints = get_type_hints(plain, include_extras=True)
        for field in dataclasses.fields(plain):
            yield from _spellings(field.name, hints[field.name])
        return
    named = [spelling for setting in settings for spelling in setting.name or ()]
    spellings = named or [f"--{name.replace('_', '-')}"]
    yield from spellings
    if plain is bool and not any(setting.negative == () for setting in settings):
        yield from (f"--no-{spelling[2:]}" for spelling in spellings if spelling.startswith("--"))


def _apart(annotation: Any) -> tuple[Any, list[Parameter]]:
    """The type behind an annotation, and the parser's settings on it."""
    if get_origin(annotation) is not Annotated:
        return annotation, []
    plain, *extras = get_args(annotation)
    return plain, [extra for extra in extras if isinstance(extra, Parameter)]
