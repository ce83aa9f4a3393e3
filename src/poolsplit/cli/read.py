"""`poolsplit read`: what a server did, from its log."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from poolsplit.cli.launch_tokens import LaunchTokens  # noqa: TC001  read at run time
from poolsplit.cli.options import PageOptions
from poolsplit.cli.output import emit
from poolsplit.cli.page_file import check_page, write_page


def read(
    *files: Annotated[str, Parameter(allow_leading_hyphen=True)],
    check: Annotated[bool, Parameter(negative="")] = False,
    gpu: str | None = None,
    launch: Annotated[LaunchTokens, Parameter(parse=False)],
    out: PageOptions = PageOptions(),  # noqa: B008  frozen
) -> int:
    """What a server did, from its log, and what to change.

    Flags that the log does not show may be added in the engine's spelling, or as a launch command after `--`.

    Args:
        files: Logs, gzip files, folders or `-`; several ranks may stand in several files.
        check: Exit with 1 when the printed figures follow from no release's rules.
        gpu: The card, such as `h200`; without it, cards that fit the printed memory are tried.
        launch: Engine flags and a pasted command.
        out: Where the answer goes.
    """
    from poolsplit import api
    from poolsplit.cli.file_names import check_names
    from poolsplit.cli.progress import byte_progress
    from poolsplit.report.read_document import read_document
    from poolsplit.report.read_screen import read_screen

    check_names(files)
    check_page(out.html, "read")
    with byte_progress(files, quiet=out.quiet) as progress:
        flags = api.launch_values(launch.engine, launch.pasted)
        answer = api.read_log(files, extra_flags=flags, gpu=gpu, progress=progress)
    text = read_screen(answer, explain=out.explain)
    document = read_document(answer, files)
    write_page(out.html, document)
    emit(out, document=document, text=text, warnings=answer.report.warnings)
    api.check_log(answer)
    return 1 if check and api.read_mismatch(answer) else 0
