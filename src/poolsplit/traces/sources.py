"""Bytes of trace files: folders, standard input, gzip by content, and lines cut with their numbers.

Nothing here trusts a file: a gzip that ends early, a line without end and a folder without traces are errors that
name the file.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from poolsplit.errors import InputError, TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEAD_BYTES = 1 << 18
"""Bytes that a format may look at to recognise itself."""
CHUNK_BYTES = 1 << 24
"""Bytes of whole lines that are decoded at a time."""
MAX_RECORD_BYTES = 1 << 29
"""Longest line, and largest JSON document, that is read; a longer one is a broken file, not a request."""
GZIP_MAGIC = b"\x1f\x8b"
_FOLDER_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".csv", ".csv.gz", ".parquet", ".pst")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Whole lines of a file, one behind the other."""

    text: bytes
    """The bytes, with a newline after each line but perhaps the last."""
    first: int
    """Number of the first line, from 1."""


class Source:
    """One file or standard input, read once from its beginning.

    Args:
        path: The file, or `-`.
    """

    def __init__(self, path: str) -> None:
        self.name = "<stdin>" if path == "-" else path
        self._stream = _open(path)
        with _named_faults(self.name):
            self.head = self._stream.read(HEAD_BYTES)

    def read(self) -> bytes:
        """The whole file, uncompressed.

        Raises:
            TraceFormatError: Damaged gzip, or larger than one record may be.
        """
        with _named_faults(self.name), self._stream:
            text = self.head + self._stream.read(MAX_RECORD_BYTES + 1 - len(self.head))
        if len(text) > MAX_RECORD_BYTES:
            raise TraceFormatError(
                f"the document is larger than {MAX_RECORD_BYTES >> 20} MiB", hint="write one session a line", where=self.name
            )
        return text

    def lines(self) -> Iterator[Lines]:
        """The file as runs of whole lines of about 16 MiB.

        Raises:
            TraceFormatError: Damaged gzip, or a line longer than one record may be.
        """
        first = 1
        rest: list[bytes] = []
        size = 0
        for chunk in self._chunks():
            cut = chunk.rfind(b"\n") + 1
            if cut == 0:
                rest.append(chunk)
                size += len(chunk)
                if size > MAX_RECORD_BYTES:
                    raise self._endless_line(first)
                continue
            text = b"".join([*rest, chunk[:cut]])
            yield Lines(text=text, first=first)
            first += text.count(b"\n")
            rest = [chunk[cut:]]
            size = len(rest[0])
        last = b"".join(rest)
        if last.strip():
            yield Lines(text=last, first=first)

    def close(self) -> None:
        """Closes a source that is not read to its end."""
        self._stream.close()

    def _chunks(self) -> Iterator[bytes]:
        yield self.head
        with self._stream:
            while True:
                with _named_faults(self.name):
                    chunk = self._stream.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk

    def _endless_line(self, line: int) -> TraceFormatError:
        return TraceFormatError(
            f"the line is longer than {MAX_RECORD_BYTES >> 20} MiB",
            hint="a trace has one request or one session a line; is this the right file?",
            where=f"{self.name}:{line}",
        )


def open_sources(paths: Sequence[str]) -> tuple[list[Source], list[str]]:
    """Sources for files, folders and `-`, and notes on what was left out.

    Files are opened one after the other only when their `Source` is made, so a folder of any size is fine.

    Raises:
        InputError: Nothing is there, or a folder holds no trace.
    """
    names: list[str] = []
    notes: list[str] = []
    for path in paths:
        if path != "-" and Path(path).is_dir():
            inside, left = _files_inside(path)
            names += inside
            if left:
                notes.append(f"{left} files in `{path}` do not look like traces and were not read")
        else:
            names.append(path)
    if names.count("-") > 1:
        raise InputError("standard input can be read once only", hint="give `-` once")
    return [Source(name) for name in names], notes


def _files_inside(folder: str) -> tuple[list[str], int]:
    files = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    by_suffix = [[name for name in files if name.endswith(suffix)] for suffix in _FOLDER_SUFFIXES]
    json_files = sorted(sum(by_suffix[:4], []))
    wanted = json_files or next((group for group in by_suffix if group), [])
    if not wanted:
        raise InputError("the folder holds no trace files", hint="traces end in .json, .jsonl, .csv, .parquet or .pst", where=folder)
    return wanted, len(files) - len(wanted)


def _open(path: str) -> IO[bytes]:
    try:
        raw = io.BufferedReader(sys.stdin.buffer.raw if path == "-" else io.FileIO(path), CHUNK_BYTES)
        magic = raw.peek(2)[:2]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=path) from None
    return gzip.GzipFile(fileobj=raw) if magic == GZIP_MAGIC else raw


class _named_faults:  # noqa: N801 -- reads as a statement
    """Turns faults of the stream into errors that name the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, EOFError):
            raise TraceFormatError("the gzip data ends early", hint="copy the file again", where=self._name) from None
        if isinstance(error, gzip.BadGzipFile | zlib.error):
            raise TraceFormatError(f"the gzip data is damaged: {error}", hint="copy the file again", where=self._name) from None
        if isinstance(error, OSError):
            raise InputError(f"cannot be read: {error.strerror or error}", where=self._name) from None
