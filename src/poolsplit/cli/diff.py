"""`poolsplit diff`: what changed between two starts, and what it changed."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.options import HardwareOptions, OutputOptions
from poolsplit.cli.output import emit


def diff(
    a: Annotated[str, Parameter(allow_leading_hyphen=True)],
    b: Annotated[str, Parameter(allow_leading_hyphen=True)],
    *,
    check: Annotated[bool, Parameter(negative="")] = False,
    engine_version: str | None = None,
    hardware: HardwareOptions = HardwareOptions(),  # noqa: B008  frozen
    out: OutputOptions = OutputOptions(),  # noqa: B008  frozen
) -> int:
    """What changed between two logs, launch commands or plans, and which change explains the difference.

    Args:
        a: A log file, a plan document, or a launch command in quotes.
        b: The other one; effects are those of each change in the first.
        check: Exit with 1 when the two differ.
        engine_version: Release whose rules answer for launch commands, such as `0.5.20`.
        hardware: The card and its free memory around the weights, for launch commands.
        out: Where the answer goes.
    """
    from dataclasses import asdict

    from poolsplit import api
    from poolsplit.report.difference_text import difference_document, difference_text

    request = api.launch_request(engine_version=engine_version, **asdict(hardware))
    found = api.diff(a, b, request)
    emit(out, document=difference_document(found, (a, b)), text=difference_text(found), warnings=found.warnings)
    return 1 if check and found.differs else 0
