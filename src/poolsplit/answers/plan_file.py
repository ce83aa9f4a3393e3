"""Figures of a plan file, for what is asked of the same server afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_Figures = TypeVar("_Figures")


def figures_of_plan(path: str, take: Callable[[Any], _Figures]) -> _Figures:
    """What `take` finds in the document of a plan.

    Raises:
        InputError: The file cannot be read, or `take` does not find in it what every plan has.
    """
    try:
        return take(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"cannot read the plan: {error.strerror}", where=path, hint="give a file") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("not a plan", where=path, hint="write one with `poolsplit plan ... --json -o FILE`") from None
