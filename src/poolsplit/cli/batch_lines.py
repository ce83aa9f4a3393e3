"""Where the lines of a batch come from and where its answers go."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from poolsplit.cli.output import replacing
from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poolsplit.cli.options import OutputOptions


@contextlib.contextmanager
def batch_lines(batch: str, out: OutputOptions) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The open file of a batch, or standard input for `-`, and what its answers are written to.

    Raises:
        InputError: The batch cannot be read.
    """
    with contextlib.ExitStack() as opened:
        try:
            source = sys.stdin.buffer if batch == "-" else opened.enter_context(Path(batch).open("rb"))
        except OSError as error:
            raise InputError(
                f"cannot read the batch: {error.strerror}", where=batch, hint="give a file of JSON lines, or `-`"
            ) from None
        in_place = out.output in {None, "-"}
        yield source, sys.stdout.buffer if in_place else opened.enter_context(replacing(str(out.output)))
