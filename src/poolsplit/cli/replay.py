"""`poolsplit replay`: which prefixes survive at one split."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.options import OutputOptions


def replay(
    *,
    batch: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> int:
    """Which prefixes survive at one split.

    Args:
        batch: File of workloads, one JSON object a line, or `-`: one line of decisions each.
        out: Where the answer goes.
    """
    from poolsplit.errors import UsageError

    if batch is None:
        raise UsageError("there is nothing to replay", hint="give `--batch FILE`")
    return _answer_batch(batch, out)


def _answer_batch(batch: str, out: OutputOptions) -> int:
    from poolsplit import api
    from poolsplit.cli.kernel_notice import kernel_ready
    from poolsplit.cli.output import replacing
    from poolsplit.errors import InputError

    with contextlib.ExitStack() as opened:
        try:
            source = sys.stdin.buffer if batch == "-" else opened.enter_context(Path(batch).open("rb"))
        except OSError as error:
            raise InputError(
                f"cannot read the batch: {error.strerror}", where=batch, hint="give a file, or `-` for standard input"
            ) from None
        opened.enter_context(kernel_ready(quiet=out.quiet))
        in_place = out.output in {None, "-"}
        target = sys.stdout.buffer if in_place else opened.enter_context(replacing(str(out.output)))
        target.writelines(api.replay_batch(source))
    return 0
