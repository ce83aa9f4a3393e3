"""An answer drawn as a page, in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_page(path: str | None, command: str) -> None:
    """Refuses before the work what would be refused after it.

    Raises:
        UsageError: The name is none of a page.
        MissingExtraError: The page draws with plotly, which is not installed.
    """
    if path is None:
        return
    if not path.endswith((".html", ".htm")):
        raise UsageError(f"`{path}` is no name of a page", hint="end the name after `--html` in `.html`")
    from poolsplit.report.one_file import CHARTED

    if command in CHARTED:
        from poolsplit.report.plotly_bundle import plotly_bundle

        plotly_bundle()


def write_page(path: str | None, document: Mapping[str, Any]) -> None:
    """Writes the page where one is asked for; it is complete or not there at all."""
    if path is None:
        return
    from poolsplit.cli.output import replacing
    from poolsplit.report.one_file import one_file

    with replacing(path) as handle:
        handle.write(one_file(document).encode())
