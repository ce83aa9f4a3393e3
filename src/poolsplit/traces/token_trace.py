"""Token traces: `{input_tokens: [...], output_tokens: [...] | num_output_tokens, ts?, session_id?, turn_id?}` a line.

The prompt is spelled out in token ids, so sharing is exact to the token: the trace has blocks of one token unless
`--block-tokens` asks for larger ones, of which only whole ones are shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, SessionLog, TraceBuilder, unknown, zeros
from poolsplit.traces.clocks import to_seconds
from poolsplit.traces.ids import row_ids
from poolsplit.traces.reading import Faults, Length, column, decode_rows, reject_rows
from poolsplit.traces.reblock import reblock
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions, Rows
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Floats, Trace


class TokenRow(msgspec.Struct, gc=False):
    """One line."""

    input_tokens: msgspec.Raw
    output_tokens: list[int] | Length | None = None
    num_output_tokens: Length | None = None
    ts: Annotated[float, msgspec.Meta(ge=0)] | None = None
    session_id: str | int | None = None


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads prompts spelled out in token ids; equal tokens are equal in all files.

    Raises:
        TraceFormatError: A bad line.
    """
    faults = Faults(skip=options.skip_bad)
    builder, sessions = TraceBuilder(), SessionLog()
    stamps: list[Floats] = []
    named: set[bool] = set()
    for number, source in enumerate(sources):
        if number > 0:
            sessions.next_file()
        for rows in decode_rows(source, TokenRow, faults):
            named |= {row.session_id is not None for row in rows.rows}
            batch = _batch(source, rows, faults, sessions, builder.rows)
            stamps.append(batch.arrival_s)
            builder.add(batch)
    if not builder.rows:
        raise TraceFormatError("the trace holds no requests", hint="is the file empty?")
    return _trace(builder, np.concatenate(stamps), sessions if named == {True} else None, options, faults)


def _batch(source: Source, rows: Rows[TokenRow], faults: Faults, sessions: SessionLog, first_row: int) -> Batch:
    bad = {
        i: ("$.output_tokens", "the row has neither `output_tokens` nor `num_output_tokens`")
        for i, row in enumerate(rows.rows)
        if row.output_tokens is None and row.num_output_tokens is None
    }
    rows = reject_rows(source, rows, bad, faults)
    rows, ids, ends = row_ids(source, rows, [row.input_tokens for row in rows.rows], faults, field="input_tokens")
    count = len(rows.rows)
    session, after = sessions.place([row.session_id for row in rows.rows], first_row)
    return Batch(
        arrival_s=column([row.ts for row in rows.rows]),
        session=session,
        scope=zeros(count),
        agent=zeros(count),
        after=after,
        input_tokens=np.diff(ends, prepend=0),
        output_tokens=np.array([_outputs(row) for row in rows.rows], dtype=np.int64),
        think_s=unknown(count),
        service_s=unknown(count),
        ids=ids,
        ends=ends,
    )


def _outputs(row: TokenRow) -> int:
    if row.num_output_tokens is not None:
        return row.num_output_tokens
    return len(row.output_tokens) if isinstance(row.output_tokens, list) else row.output_tokens or 0


def _trace(
    builder: TraceBuilder, stamps: Floats, sessions: SessionLog | None, options: ReadOptions, faults: Faults
) -> Trace:
    timed = not np.isnan(stamps).any()
    notes: tuple[str, ...] = ()
    if timed:
        stamps, notes = to_seconds(stamps, unit=options.time_unit, default="s")
    elif not np.isnan(stamps).all():
        notes = ("some rows have no `ts`, so the times of the others are left out",)
    builder.set_columns(arrival_s=stamps if timed else unknown(builder.rows))
    origin = Origin(
        format="token-trace",
        dialect="full",
        clock="trace" if timed else "order",
        sessions_known=sessions is not None,
        notes=(*notes, *faults.notes()),
    )
    trace = builder.trace(origin=origin, block_tokens=1, session_names=sessions.names if sessions else ())
    return reblock(trace, options.block_tokens) if options.block_tokens else trace
