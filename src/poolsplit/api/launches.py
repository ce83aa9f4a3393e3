"""What a launch asks for, from a command line of ours or from one of the engine's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.engines.resolution import AskedLaunch


def split_engine_flags(tokens: Sequence[str], own_options: Container[str]) -> tuple[list[str], list[str]]:
    """Divides one of our command lines into our options and the engine's flags with their values."""
    from poolsplit.engines.sglang.command.arguments import split_engine_flags as split

    return split(tokens, own_options)


def near_engine_flag(spelling: str) -> str | None:
    """The engine's flag that a misspelt one comes nearest to; None where none is near."""
    from poolsplit.engines.sglang.command.flag_table import near_spellings

    return next(iter(near_spellings(spelling)), None)


def launch_request(**words: Any) -> LaunchRequest:
    """What a command line says about a launch; unset words are None, and a launch of `-` is what standard input holds.

    It is read here, once: an answer may look at its launch several times.
    """
    import sys

    from poolsplit.answers.opened_launch import LaunchRequest

    pasted = tuple(words.pop("pasted", ()))
    return LaunchRequest(**words, pasted=(sys.stdin.read(),) if pasted == ("-",) else pasted)


def launch_values(engine: Sequence[str], pasted: Sequence[str]) -> dict[str, Any]:
    """Every field that engine flags and a pasted launch command name; flags win.

    Raises:
        UsageError: A flag without its value, or no launch in the pasted part.
    """
    from poolsplit.engines.sglang.command.launch import parse_flags, parse_tokens

    values: dict[str, Any] = dict(parse_tokens(pasted).values) if pasted else {}
    return values | (dict(parse_flags(engine).values) if engine else {})


def asked_launch(request: LaunchRequest) -> AskedLaunch:
    """What a launch asks for, to be said again beside a refusal.

    Raises:
        InputError: A model, card, size or flag that is not understood.
    """
    from poolsplit.answers.opened_launch import asked_launch as asked

    return asked(request)
