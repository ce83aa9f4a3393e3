"""`poolsplit resolve`: what the engine will resolve from a launch, before it loads anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from poolsplit.api import resolve_batch
from poolsplit.cli.options import OutputOptions
from poolsplit.cli.output import replacing
from poolsplit.errors import InputError, UsageError


def resolve(*, batch: str | None = None, models: str | None = None, output: OutputOptions = OutputOptions()) -> int:
    """Say what."""
    if batch:
        return _answer_batch(batch, models, output)
    return 0


def _answer_batch(batch: str, models: str | None, output: OutputOptions) -> int:
    folder = None if models is None else Path(models)
    try:
        source = sys.stdin.buffer if batch == "-" else Path(batch).open("rb")
    except OSError as error:
        raise InputError(f"cannot read the batch: {error.strerror}", where=batch) from None
    with source:
        answers = resolve_batch(source, models=folder)
        if output.output in {None, "-"}:
            sys.stdout.buffer.writelines(answers)
            return 0
        with replacing(output.output) as handle:
            handle.writelines(answers)
    return 0
