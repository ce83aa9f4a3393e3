"""Progress of a long read, on a terminal only and never on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SHOWN_FROM_BYTES = 64 << 20
"""Shorter reads are over before a bar helps."""


@contextlib.contextmanager
def byte_progress(files: Sequence[str], *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A function that takes the bytes of each part read; None where nothing is shown."""
    total = _total_bytes(files)
    if quiet or not sys.stderr.isatty() or (total is not None and total < SHOWN_FROM_BYTES):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda count: bar.advance(task, count)


def _total_bytes(files: Sequence[str]) -> int | None:
    """Bytes on disk; None when a part is standard input, compressed or a folder."""
    if any(name == "-" or name.endswith(".gz") or not os.path.isfile(name) for name in files):  # noqa: PTH113
        return None
    return sum(os.path.getsize(name) for name in files)  # noqa: PTH202
