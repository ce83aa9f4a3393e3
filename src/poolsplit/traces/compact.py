"""The compact file, `.pst`: a zip of the columns as numpy arrays and one JSON member, `trace.json`.

Why this and not Parquet: numpy reads and writes it without another package, any numpy program opens it with
`numpy.load`, each member carries a checksum, nothing in it is executed on reading, and columns of small integers pack
well. A trace of 98,827 requests of 219 thousand tokens takes a few megabytes.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.checks import check
from poolsplit.traces.sources import MAX_RECORD_BYTES
from poolsplit.traces.trace import COLUMNS, Origin, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source

NAME = "pst"
_HEADER = "trace.json"
_COMPRESSION_LEVEL = 1
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    KeyError,
    ValueError,
    OverflowError,
    EOFError,
    MemoryError,
    msgspec.MsgspecError,
)
"""What a zip with wrong bytes anywhere may raise: a changed flag asks for other methods, versions or a password, a
changed column header for more rows than any memory holds."""


class Header(msgspec.Struct, kw_only=True, omit_defaults=False):
    """What is not a column."""

    poolsplit_trace: Literal[1] = 1
    origin: Origin
    block_tokens: Annotated[int, msgspec.Meta(ge=1)] | None
    session_names: tuple[str, ...]


def write(trace: Trace, out: IO[bytes]) -> None:
    """Writes a trace whole; equal traces give equal bytes."""
    header = Header(origin=trace.origin, block_tokens=trace.block_tokens, session_names=trace.session_names)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=_COMPRESSION_LEVEL) as archive:
        archive.writestr(_member(_HEADER), msgspec.json.encode(header))
        for name in COLUMNS:
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, getattr(trace, name), allow_pickle=False)
            archive.writestr(_member(f"{name}.npy"), buffer.getvalue())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads one compact file.

    Raises:
        TraceFormatError: Not a compact trace, a damaged one, or more than one file.
    """
    del options
    first, *more = sources
    if more:
        raise TraceFormatError("compact traces are read one at a time", hint="name one `.pst` file", where=more[0].name)
    try:
        return check(_load(first.read()))
    except _DAMAGED as error:
        raise TraceFormatError(
            f"not a whole compact trace: {error}", hint="make it again with `poolsplit trace convert`", where=first.name
        ) from None


def _load(content: bytes) -> Trace:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        header = msgspec.json.decode(_unpacked(archive, _HEADER), type=Header)
        columns = {name: _column(_unpacked(archive, f"{name}.npy")) for name in COLUMNS}
    return Trace(origin=header.origin, block_tokens=header.block_tokens, session_names=header.session_names, **columns)


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member, read only when it is no larger than a document may be: a few kilobytes can unpack to any size."""
    size = archive.getinfo(name).file_size
    if size > MAX_RECORD_BYTES:
        raise ValueError(f"`{name}` unpacks to {size >> 20} MiB, more than {MAX_RECORD_BYTES >> 20}")
    with archive.open(name) as member:
        return member.read(size)


def _column(content: bytes) -> np.ndarray:
    array: np.ndarray = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype not in {np.dtype(np.int64), np.dtype(np.float64)} or array.ndim != 1:
        raise ValueError(f"a column of {array.dtype} in {array.ndim} dimensions")
    return array
