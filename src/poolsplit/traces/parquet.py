"""Parquet files of rows that are also written as JSON lines: the same fields, the same readers.

Rows are turned into JSON lines as they are read, so there is one reader for each format and not two.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from poolsplit.errors import MissingExtraError, TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator


MAGIC = b"PAR1"
_ROWS_AT_A_TIME = 4096


def as_json_lines(content: bytes, name: str) -> Iterator[bytes]:
    """Rows of a Parquet file as JSON lines; fields without a value are left out.

    Raises:
        MissingExtraError: The package that reads Parquet is not installed.
        TraceFormatError: A damaged file.
    """
    import msgspec

    arrow, parquet = _packages()
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        for batch in file.iter_batches(batch_size=_ROWS_AT_A_TIME):
            rows = ({key: value for key, value in row.items() if value is not None} for row in batch.to_pylist())
            yield b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    except arrow.ArrowException as error:
        raise TraceFormatError(f"not a whole Parquet file: {error}", hint="copy the file again", where=name) from None


def _packages() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError(
            "Parquet needs the package `pyarrow`", hint="pip install 'poolsplit[parquet]'"
        ) from None
    return pa, parquet
