"""A long file read in stretches by several processes; a short one in this process."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from poolsplit.engines.sglang.boot_log.scan import CHUNK_BYTES, Scanner, joined
from poolsplit.engines.sglang.boot_log.sources import open_log, plain_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.engines.sglang.boot_log.scan import FileScan, OtherForm

LONG_BYTES = 128 << 20
"""From here on further processes are worth their start."""
STRETCH_BYTES = 64 << 20
MOST_PROCESSES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Bytes of one file, from the start of a line to the end of one."""

    name: str
    start: int
    end: int


def scan_file(
    name: str, forms: tuple[OtherForm, ...], progress: Callable[[int], None] | None, *, long_bytes: int = LONG_BYTES
) -> FileScan:
    """Reads one log.

    Raises:
        InputError: It cannot be read.
    """
    size = plain_size(name)
    processes = min(_processors(), MOST_PROCESSES)
    if size is None or size < long_bytes or processes < 2:  # noqa: PLR2004  one process is this one
        with open_log(name) as stream:
            return Scanner(name, forms).run(stream, progress)
    from concurrent.futures import ProcessPoolExecutor

    step = min(STRETCH_BYTES, -(-size // processes))
    scans = []
    with ProcessPoolExecutor(max_workers=processes) as executor:
        stretches = stretches_of(name, size, step)
        for stretch, scan in zip(
            stretches, executor.map(scan_stretch, stretches, [forms] * len(stretches)), strict=True
        ):
            scans.append(scan)
            if progress:
                progress(stretch.end - stretch.start)
    return joined(scans)


def scan_stretch(stretch: Stretch, forms: tuple[OtherForm, ...]) -> FileScan:
    """Reads one stretch of a file."""
    with Path(stretch.name).open("rb") as raw:
        raw.seek(stretch.start)
        return Scanner(stretch.name, forms).run(_Limited(raw, stretch.end - stretch.start))


def stretches_of(name: str, size: int, step: int) -> list[Stretch]:
    """The file in stretches of whole lines, each about `step` bytes long."""
    cuts = [0]
    with Path(name).open("rb") as raw:
        while cuts[-1] < size:
            cuts.append(_line_start(raw, cuts[-1] + step, size))
    return [Stretch(name=name, start=start, end=end) for start, end in itertools.pairwise(cuts)]


def _line_start(raw: BinaryIO, at: int, size: int) -> int:
    if at >= size:
        return size
    raw.seek(at - 1)
    raw.readline(CHUNK_BYTES)
    return min(raw.tell(), size)


class _Limited:
    """The next bytes of a stream, up to a number of them."""

    def __init__(self, raw: BinaryIO, count: int) -> None:
        self._raw, self._left = raw, count

    def read(self, size: int, /) -> bytes:
        """The next bytes; empty at the end."""
        block = self._raw.read(min(size, self._left))
        self._left -= len(block)
        return block


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
