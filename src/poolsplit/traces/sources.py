"""Bytes of trace files: folders, standard input, gzip by content, and lines cut with their numbers.

Nothing here trusts a file: a gzip that ends early, a line without end and a folder without traces are errors that
name the file.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from poolsplit.errors import InputError, TraceFormatError, UsageError
from poolsplit.traces import parquet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEAD_BYTES = 1 << 18
"""Bytes that a format may look at to recognise itself."""
CHUNK_BYTES = 1 << 24
"""Bytes of whole lines that are decoded at a time."""
MAX_RECORD_BYTES = 1 << 29
"""Longest line, and largest JSON document, that is read; a longer one is a broken file, not a request."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
_READABLE_HINT = "name a trace file that you may read, a folder of them, or `-`"
_FOLDER_SUFFIXES = ((".json", ".jsonl", ".json.gz", ".jsonl.gz"), (".csv", ".csv.gz"), (".parquet",), (".pst",))
"""A folder is read for the first kind of file that it holds."""


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
        self._file = _open(path)
        try:
            self._stream: _Readable = self._unpacked()
            self.head = self._read_head()
        except BaseException:
            self._file.close()
            raise

    def read(self) -> bytes:
        """The whole file, uncompressed.

        Raises:
            TraceFormatError: Damaged gzip, or larger than one record may be.
        """
        with _named_faults(self.name), closing(self):
            text = self.head + self._stream.read(max(MAX_RECORD_BYTES + 1 - len(self.head), 0))
        if len(text) > MAX_RECORD_BYTES:
            raise TraceFormatError(
                f"the document is larger than {MAX_RECORD_BYTES >> 20} MiB",
                hint="write one session a line",
                where=self.name,
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
        """Closes the file; reading it to its end does so too."""
        self._stream.close()
        self._file.close()

    def _read_head(self) -> bytes:
        with _named_faults(self.name):
            head = self._stream.read(HEAD_BYTES)
        if not head.startswith(parquet.MAGIC):
            return head.removeprefix(_BYTE_ORDER_MARK)
        self.head = head
        self._stream = _Pieces(parquet.as_json_lines(self.read(), self.name))
        return self._stream.read(HEAD_BYTES)

    def _unpacked(self) -> _Readable:
        with _named_faults(self.name):
            magic = self._file.peek(2)[:2]
        return gzip.GzipFile(fileobj=self._file) if magic == GZIP_MAGIC else self._file

    def _chunks(self) -> Iterator[bytes]:
        yield self.head
        with closing(self):
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


def list_files(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the trace files behind files, folders and `-`, and notes on what was left out.

    Raises:
        UsageError: A name that looks like an option.
        InputError: A folder holds no trace, or standard input is named twice.
    """
    names: list[str] = []
    notes: list[str] = []
    for path in paths:
        if path.startswith("--"):
            raise UsageError(f"there is no option `{path}`", hint="see `poolsplit trace --help`")
        if path != "-" and Path(path).is_dir():
            inside, left = _files_inside(path)
            names += inside
            if left:
                notes.append(f"files in `{path}` that do not look like traces and were not read: {left}")
        else:
            names.append(path)
    if names.count("-") > 1:
        raise InputError("standard input can be read once only", hint="give `-` once")
    return names, notes


def _files_inside(folder: str) -> tuple[list[str], int]:
    files = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    groups = ([name for name in files if name.endswith(suffixes)] for suffixes in _FOLDER_SUFFIXES)
    wanted = next((group for group in groups if group), [])
    if not wanted:
        raise InputError(
            "the folder holds no trace files", hint="traces end in .json, .jsonl, .csv, .parquet or .pst", where=folder
        )
    return wanted, len(files) - len(wanted)


def _open(path: str) -> io.BufferedReader[io.FileIO]:
    try:
        file = io.FileIO(sys.stdin.fileno() if path == "-" else path, closefd=path != "-")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", hint=_READABLE_HINT, where=path) from None
    return io.BufferedReader(file, CHUNK_BYTES)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class _Pieces:
    """A stream of byte strings that come one by one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        parts, have = [self._rest], len(self._rest)
        while have < size and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            have += len(piece)
        text = b"".join(parts)
        self._rest = text[size:]
        return text[:size]

    def close(self) -> None:
        """Nothing to close: the file was read whole."""


@contextmanager
def _named_faults(name: str) -> Iterator[None]:
    """Turns faults of the stream into errors that name the file."""
    try:
        yield
    except EOFError:
        raise TraceFormatError("the gzip data ends early", hint="copy the file again", where=name) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise TraceFormatError(f"the gzip data is damaged: {error}", hint="copy the file again", where=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", hint=_READABLE_HINT, where=name) from None
