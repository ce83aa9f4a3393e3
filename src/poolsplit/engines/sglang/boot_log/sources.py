"""Where logs come from: files, gzip files, folders, standard input; never more than one chunk in memory."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STDIN = "-"
_GZIP = b"\x1f\x8b"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NAMES_HINT = "name a log file, a gzip file, a folder of logs, or `-` for standard input"
LOG_SUFFIXES = (".log", ".txt", ".out", ".err", ".gz")


def expand(names: Sequence[str]) -> list[str]:
    """The files behind the names: a folder gives its log files by name.

    Raises:
        InputError: A name does not exist, or a folder holds no log.
    """
    found: list[str] = []
    for name in names:
        path = Path(name)
        if name != STDIN and path.is_dir():
            logs = sorted(str(item) for item in path.iterdir() if item.is_file() and _looks_like_log(item))
            if not logs:
                raise InputError(
                    "the folder holds no log", hint=f"log files end in {', '.join(LOG_SUFFIXES)}", where=name
                )
            found.extend(logs)
        elif name != STDIN and not path.exists():
            raise InputError("there is no such file", hint=_NAMES_HINT, where=name)
        else:
            found.append(name)
    return found


@contextmanager
def open_log(name: str) -> Iterator[BinaryIO]:
    """A log as bytes of UTF-8, decompressed.

    Raises:
        InputError: It cannot be read.
    """
    try:
        if name == STDIN:
            yield _decoded(io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer)))
            return
        with Path(name).open("rb") as raw:
            yield _decoded(raw)
    except (EOFError, gzip.BadGzipFile) as error:
        hint = "decompress what is whole with `gzip -dc`, and read that from `-`"
        raise InputError(f"the compressed file is damaged: {error}", hint=hint, where=name) from None
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", hint=_NAMES_HINT, where=name) from None


def plain_size(name: str) -> int | None:
    """Bytes of a plain file of UTF-8; None for anything that can only be read from its start.

    Raises:
        InputError: It cannot be read.
    """
    if name == STDIN:
        return None
    try:
        with Path(name).open("rb") as raw:
            head = raw.read(2)
        path = Path(name)
        return path.stat().st_size if path.is_file() and head != _GZIP and head not in _UTF16 else None
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror or error}", hint=_NAMES_HINT, where=name) from None


def _looks_like_log(path: Path) -> bool:
    return path.suffix in LOG_SUFFIXES or ".log." in path.name


def _decoded(raw: io.BufferedReader) -> BinaryIO:
    head = raw.peek(2)[:2]
    if head == _GZIP:
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw))
    if head in _UTF16:
        return _Recoded(raw, _UTF16[head])
    return raw


class _Recoded(io.RawIOBase, BinaryIO):
    """UTF-16 text, as some shells write it, read as UTF-8."""

    def __init__(self, raw: io.BufferedReader, encoding: str) -> None:
        super().__init__()
        self._raw = raw
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def read(self, size: int = -1) -> bytes:
        """The next part; empty at the end."""
        block = self._raw.read(size)
        text = self._decoder.decode(block, final=not block)
        return text.lstrip("\ufeff").encode()
