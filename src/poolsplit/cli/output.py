"""Writing answers: data to stdout or a file, everything else to stderr, nothing half-written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError
from poolsplit.report.folding import fold
from poolsplit.report.whole_document import whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from poolsplit.cli.options import OutputOptions

PIPED_WIDTH = 100
"""Characters of a line that no terminal shows."""


def use_color(options: OutputOptions) -> bool:
    """Whether text may carry colour: a terminal, and nobody said no."""
    return not (options.no_color or "NO_COLOR" in os.environ or options.output) and sys.stdout.isatty()


def emit(options: OutputOptions, *, document: Mapping[str, Any], text: str, warnings: Sequence[str] = ()) -> None:
    """Writes one answer in the asked form; warnings go to stderr unless they are in the document already."""
    if not (options.quiet or options.json):
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
    body = to_json(document) if options.json else fold(text, line_width(options.output))
    write_text(body if body.endswith("\n") else body + "\n", options.output)


def line_width(output: str | None = None) -> int:
    """Characters of a line: as the terminal has them, else a fixed number, so that files and pipes are the same."""
    if output not in {None, "-"} or not sys.stdout.isatty():
        return PIPED_WIDTH
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns


def to_json(document: Mapping[str, Any]) -> str:
    """One JSON object with `schema_version` first; byte-stable for equal input."""
    import json

    return json.dumps(whole(document), indent=2, ensure_ascii=False, allow_nan=False)


def write_text(text: str, path: str | None) -> None:
    """Writes to stdout, or to a file through a temporary name."""
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    with replacing(path) as handle:
        handle.write(text.encode())


@contextlib.contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of `path` when the block ends well, and leaves nothing when it does not.

    Raises:
        InputError: The folder is missing or cannot be written.
    """
    target = Path(path)
    if not path or target.is_dir():
        raise _unwritable(path, "a folder is no file" if path else "no name is given")
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise _unwritable(path, error.strerror) from None
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield handle
        try:
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        except OSError as error:
            raise _unwritable(path, error.strerror) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unwritable(path: str, why: str | None) -> InputError:
    return InputError(f"cannot write there: {why}", where=path or "-o", hint="name a file in a folder that is there")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
