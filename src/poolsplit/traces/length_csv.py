"""CSV of lengths: Azure (`TIMESTAMP,ContextTokens,GeneratedTokens`) and BurstGPT (`Timestamp,...,Request tokens,...`).

They say when requests came and how long they were. Nothing says which prompts share a prefix, so no hit rate can be
had from them; concurrency and pool occupancy can.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, SessionLog, TraceBuilder, unknown, zeros
from poolsplit.traces.reading import Faults, fault
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Lines, Source
    from poolsplit.traces.trace import Trace

_FRACTION_DIGITS = 6
_MOST_DIGITS = 12
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Column names of one format and how it writes times."""

    name: str
    time: str
    inputs: str
    outputs: str
    seconds: Callable[[str], float]
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    time_s: float
    input_tokens: int
    output_tokens: int
    session: str | None


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads CSV files of one layout; several files are one stream of requests on one clock.

    Raises:
        TraceFormatError: A bad line or an unknown header.
    """
    faults = Faults(skip=options.skip_bad)
    log = SessionLog()
    rows: list[_Row] = []
    layout = None
    for source in sources:
        for found, row in _rows(source, faults):
            layout = layout or found
            if found is not layout:
                raise TraceFormatError(
                    f"the header is that of {found.name}, not of {layout.name}",
                    hint="read files of one kind at a time",
                    where=source.name,
                )
            rows.append(row)
    if layout is None:
        raise TraceFormatError("the trace holds no requests", hint="is the file empty?")
    return _trace(rows, layout, log, faults)


def _rows(source: Source, faults: Faults) -> Iterator[tuple[_Layout, _Row]]:
    layout = None
    for block in source.lines():
        for number, cells in _records(block, source.name, faults):
            if layout is None:
                layout, header = _layout(cells, source.name), [cell.strip() for cell in cells]
                continue
            try:
                yield layout, _row(dict(zip(header, cells, strict=True)), layout)
            except ValueError as error:
                faults.reject(fault(source.name, number, str(error)))


def _records(block: Lines, name: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line with its number; a quote that never closes is one bad line."""
    reader = csv.reader(block.text.decode("utf-8-sig", "replace").splitlines())
    while True:
        number = block.first + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            faults.reject(fault(name, number, f"not CSV: {error}"))
            continue
        if cells is None:
            return
        if cells:
            yield number, cells


def _row(cells: dict[str, str], layout: _Layout) -> _Row:
    values = {}
    for name in (layout.inputs, layout.outputs):
        if not cells[name].strip().isdecimal() or len(cells[name]) > _MOST_DIGITS:
            raise ValueError(f"`{name}` is `{cells[name][:_SHOWN_CHARS]}`, not a number of tokens")
        values[name] = int(cells[name])
    try:
        time_s = layout.seconds(cells[layout.time])
    except ValueError:
        time_s = -1.0
    if not 0 <= time_s < float("inf"):
        raise ValueError(f"`{layout.time}` is `{cells[layout.time][:_SHOWN_CHARS]}`, not a time")
    session = cells.get(layout.session, "").strip() or None
    return _Row(
        time_s=time_s, input_tokens=values[layout.inputs], output_tokens=values[layout.outputs], session=session
    )


def _layout(header: list[str], name: str) -> _Layout:
    columns = {column.strip() for column in header}
    for layout in _LAYOUTS:
        if {layout.time, layout.inputs, layout.outputs} <= columns:
            return layout
    raise TraceFormatError(
        f"the CSV header `{','.join(header)[:_SHOWN_CHARS]}` is none of the known ones",
        hint="known are those of Azure and BurstGPT",
        where=f"{name}:1",
    )


def _date_seconds(text: str) -> float:
    """Seconds of a date with up to seven fractional digits; digits past the sixth are added exactly enough."""
    whole, _, fraction = text.strip().partition(".")
    fraction = fraction.split("+")[0].rstrip("Z")
    date = datetime.fromisoformat(whole).replace(tzinfo=UTC)
    digits = (fraction + "0" * _FRACTION_DIGITS)[: max(_FRACTION_DIGITS, len(fraction))]
    return date.timestamp() + float(int(digits) / 10 ** len(digits))


_LAYOUTS = (
    _Layout(name="azure", time="TIMESTAMP", inputs="ContextTokens", outputs="GeneratedTokens", seconds=_date_seconds),
    _Layout(
        name="burstgpt",
        time="Timestamp",
        inputs="Request tokens",
        outputs="Response tokens",
        seconds=float,
        session="Session ID",
    ),
)


def _trace(rows: list[_Row], layout: _Layout, log: SessionLog, faults: Faults) -> Trace:
    count = len(rows)
    rows = sorted(rows, key=lambda row: row.time_s)
    times = np.array([row.time_s for row in rows], dtype=np.float64)
    session, after = log.place([row.session for row in rows], 0)
    builder = TraceBuilder()
    builder.add(
        Batch(
            arrival_s=times - times.min(initial=times[0]),
            session=session,
            scope=zeros(count),
            agent=zeros(count),
            after=after,
            input_tokens=np.array([row.input_tokens for row in rows], dtype=np.int64),
            output_tokens=np.array([row.output_tokens for row in rows], dtype=np.int64),
            think_s=unknown(count),
            service_s=unknown(count),
            ids=zeros(0),
            ends=zeros(count),
        )
    )
    origin = Origin(
        format=layout.name,
        dialect="lengths",
        clock="trace",
        sessions_known=all(row.session is not None for row in rows),
        notes=faults.notes(),
    )
    return builder.trace(origin=origin, block_tokens=None, session_names=log.names if origin.sessions_known else ())
