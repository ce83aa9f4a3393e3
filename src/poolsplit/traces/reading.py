"""What every reader shares: its options, how it reports a bad line, and JSON lines decoded in bulk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints

Row = TypeVar("Row")
TimeUnit = Literal["s", "ms", "us", "ns"]

MOST_TOKENS = 1 << 40
Length = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]
"""A number of tokens; a larger one is a mistake, and sums must stay within 63 bits."""
SECONDS_PER_UNIT: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_SHOWN_FAULTS = 5
NONE_SKIPPED = "without `--skip-bad` the first bad line is shown"
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding bytes that are no JSON of the wanted form may raise; brackets may be nested without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What the user decides about reading; None means that the file says."""

    format: str | None = None
    """Name of the format instead of detecting it."""
    dialect: str | None = None
    """How to read the format where it has dialects, instead of detecting it."""
    block_tokens: int | None = None
    """Tokens of one block, where the file does not say."""
    time_unit: TimeUnit | None = None
    """Unit of timestamps, where the file does not say."""
    tokenizer: str | None = None
    """A `tokenizer.json` that turns text into tokens; without it lengths are estimated from bytes."""
    answer_tokens: int | None = None
    """Tokens of an answer, for formats that do not record its length."""
    shared_ids: bool = False
    """Ids of several files mean the same blocks; otherwise no two files share anything."""
    share_system: bool = False
    """Sessions with equal tool and system prompt lengths share that prefix, where the format records the lengths."""
    skip_bad: bool = False
    """Leave bad lines out and count them, instead of stopping at the first."""

    def __post_init__(self) -> None:
        for name in ("block_tokens", "answer_tokens"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MOST_TOKENS:
                flag = name.replace("_", "-")
                raise UsageError(
                    f"`--{flag}` is {value}", hint=f"give a whole number of tokens from 1 to {MOST_TOKENS}"
                )


@dataclass(slots=True)
class Faults:
    """Bad lines met so far."""

    skip: bool
    count: int = 0
    shown: list[str] = field(default_factory=list)

    def reject(self, error: TraceFormatError) -> None:
        """Counts a bad line when bad lines are skipped.

        Raises:
            TraceFormatError: Bad lines are not skipped.
        """
        if not self.skip:
            raise error
        self.count += 1
        if len(self.shown) < _SHOWN_FAULTS:
            self.shown.append(str(error))

    def notes(self) -> tuple[str, ...]:
        """One sentence when lines were skipped."""
        if not self.count:
            return ()
        return (f"bad lines that were skipped: {self.count}, first {'; '.join(self.shown)}",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Generic[Row]):
    """Decoded lines of one file."""

    rows: list[Row]
    lines: Ints
    """Line number of each row."""

    def without(self, bad: set[int]) -> Rows[Row]:
        """The rows but those at the given places."""
        keep = [place for place in range(len(self.rows)) if place not in bad]
        return Rows(rows=[self.rows[place] for place in keep], lines=self.lines[keep])


def decode_rows(source: Source, row_type: type[Row], faults: Faults) -> Iterator[Rows[Row]]:
    """JSON lines as rows of one type, in runs of about 16 MiB; numbers may be quoted.

    Raises:
        TraceFormatError: A line that is not such a row, with its number and JSON path.
    """
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(row_type, strict=False)
    for block in source.lines():
        try:
            rows = decoder.decode_lines(block.text)
        except UNREADABLE:
            rows = []
        if rows and len(rows) == block.text.count(b"\n") + (not block.text.endswith(b"\n")):
            yield Rows(rows=rows, lines=np.arange(block.first, block.first + len(rows)))
        else:
            yield _decode_each(block.text, block.first, source.name, decoder, faults)


def decode_documents(source: Source, document_type: type[Row], faults: Faults) -> Iterator[tuple[int, Row]]:
    """JSON documents, one a line or one a file, each with the number of its first line.

    Raises:
        TraceFormatError: A document that is not of the type, with its line and JSON path.
    """
    if json_lines(source.head):
        for rows in decode_rows(source, document_type, faults):
            yield from zip(rows.lines.tolist(), rows.rows, strict=True)
        return
    try:
        yield 1, msgspec.json.decode(source.read(), type=document_type, strict=False)
    except UNREADABLE as error:
        faults.reject(fault(source.name, 1, _reason(error)))


def json_lines(head: bytes) -> bool:
    """Whether a file has one JSON document a line, by its first line; a file of one long line has."""
    first, newline, _ = head.lstrip().partition(b"\n")
    if not newline:
        return True
    try:
        msgspec.json.decode(first, type=msgspec.Raw)
    except UNREADABLE:
        return False
    return True


def _decode_each(text: bytes, first: int, name: str, decoder: msgspec.json.Decoder[Any], faults: Faults) -> Rows[Any]:
    rows: list[Any] = []
    lines: list[int] = []
    for number, line in enumerate(text.split(b"\n"), first):
        if not line.strip():
            continue
        try:
            rows.append(decoder.decode(line))
            lines.append(number)
        except UNREADABLE as error:
            faults.reject(fault(name, number, _reason(error)))
    return Rows(rows=rows, lines=np.array(lines, dtype=np.int64))


def _reason(error: Exception) -> str:
    """What is wrong with a document; msgspec tells a wrong field from what is no JSON at all."""
    if isinstance(error, RecursionError):
        return "not JSON of a request: it is nested too deep"
    return str(error) if isinstance(error, msgspec.ValidationError) else f"not JSON: {error}"


def fault(name: str, line: int, message: str, path: str = "") -> TraceFormatError:
    """An error at one line of a file; a JSON path in the message's tail moves to the front."""
    message, _, found = message.partition(" - at `")
    path = path or found.removesuffix("`")
    where = f"{name}:{line}" + (f": {path}" if path else "")
    return TraceFormatError(
        message if message.startswith("not JSON") else message[:1].lower() + message[1:],
        hint="correct the line, or leave bad lines out with `--skip-bad`",
        where=where,
    )


def reject_rows(source: Source, rows: Rows[Row], bad: dict[int, tuple[str, str]], faults: Faults) -> Rows[Row]:
    """Rows without those that a check found bad.

    Args:
        source: The file.
        rows: Its rows.
        bad: Place of a bad row to JSON path and message.
        faults: Where they are counted.

    Raises:
        TraceFormatError: The first bad row, when bad lines are not skipped.
    """
    for place, (path, message) in sorted(bad.items()):
        faults.reject(fault(source.name, int(rows.lines[place]), message, path))
    return rows.without(set(bad)) if bad else rows


def column(values: Sequence[float | None]) -> Any:
    """Numbers that may be missing as float64; a missing one is NaN.

    Shapes:
        result: (len(values),)
    """
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
