"""File names on our command line: `-` is standard input, anything else with a hyphen in front is a mistyped option."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_names(names: Sequence[str]) -> None:
    """Refuses what was meant as an option.

    Raises:
        UsageError: A name that begins with a hyphen and is not `-`.
    """
    for name in names:
        if name.startswith("-") and name != "-":
            raise UsageError(
                f"unknown option `{name}`", hint="see the options with `--help`; write `./-name` for a file"
            )
