"""A launch that the engine would refuse, as a document: programs get the reason where people get an error line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.cli.output import emit

if TYPE_CHECKING:
    from poolsplit.answers.opened_launch import LaunchRequest
    from poolsplit.cli.options import OutputOptions
    from poolsplit.errors import LaunchRefusedError

REFUSED_EXIT_CODE = 1


def emit_refusal(
    command: str, error: LaunchRefusedError, request: LaunchRequest, out: OutputOptions, *, from_log: bool = False
) -> int:
    """Writes the refusal and gives the exit code; for people it stays an error.

    Raises:
        LaunchRefusedError: No JSON is asked for.
    """
    if not out.json:
        raise error
    from poolsplit import api
    from poolsplit.report.resolution_document import refusal_document

    asked = None if from_log else api.asked_launch(request)
    engine = api.engine(request.release if asked is None else asked.version)
    warnings = () if asked is None else asked.warnings
    emit(out, document=refusal_document(command, engine, error, asked), text="", warnings=warnings)
    return REFUSED_EXIT_CODE
