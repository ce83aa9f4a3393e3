"""What poolsplit answers, as functions: the rooms below joined, for the command line and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


def split_engine_flags(tokens: Sequence[str], own_options: Container[str]) -> tuple[list[str], list[str]]:
    """Divides one of our command lines into our options and the engine's flags with their values."""
    from poolsplit.engines.sglang.command_arguments import split_engine_flags as split

    return split(tokens, own_options)
