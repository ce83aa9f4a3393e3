"""What poolsplit answers, as functions: the rooms below joined, for the command line and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


def split_engine_flags(tokens: Sequence[str], own_options: Container[str]) -> tuple[list[str], list[str]]:
    """Divides one of our command lines into our options and the engine's flags with their values."""
    from poolsplit.engines.sglang.command_arguments import split_engine_flags as split

    return split(tokens, own_options)


def resolve_batch(lines: Iterable[bytes], *, models: Path | None = None) -> Iterator[bytes]:
    """Answers to a batch of launches, one line each, in order.

    Args:
        lines: One case a line; empty lines are skipped.
        models: Folder with a `NAME.json` for each model that a case names; without it, names are looked up as usual.

    Raises:
        InputError: Once all lines are answered, if some of them were no case.
    """
    from poolsplit.engines.sglang.batch import Batch
    from poolsplit.engines.sglang.solver import solve
    from poolsplit.errors import InputError
    from poolsplit.hub import find_config, local

    def load_config(name: str) -> Mapping[str, Any]:
        return find_config(name).config if models is None else local.read(models / f"{name}.json").config

    batch = Batch(load_config, solve)
    for line in lines:
        if line.strip():
            yield batch.answer(line)
    if batch.unreadable:
        raise InputError(
            f"{batch.unreadable} lines are no case", hint="their answers say what is wrong, under `message`"
        )
