"""Random rows as a trace."""

import numpy as np

from poolsplit.traces.trace import Origin, Trace


def trace_of(rows):
    """A trace in order; rows that follow one another are one session."""
    count = rows.input_tokens.size
    nothing = np.full(count, np.nan)
    first = np.arange(count, dtype=np.int64)
    for row in range(count):
        if rows.previous[row] >= 0:
            first[row] = first[rows.previous[row]]
    return Trace(
        origin=Origin(format="random", dialect="full", clock="order", sessions_known=False),
        block_tokens=rows.block_tokens,
        session_names=(),
        arrival_s=nothing.copy(),
        session=np.unique(first, return_inverse=True)[1].astype(np.int64),
        scope=np.zeros(count, dtype=np.int64),
        agent=np.zeros(count, dtype=np.int64),
        parent=rows.parent.copy(),
        kept_blocks=rows.kept_blocks.copy(),
        new_blocks=rows.new_blocks.copy(),
        after=rows.previous.copy(),
        input_tokens=rows.input_tokens.copy(),
        output_tokens=rows.output_tokens.copy(),
        think_s=nothing.copy(),
        service_s=nothing.copy(),
    )
