"""What a request is going to produce, decided once for the reference and for the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.replay.workload import END_OF_SEQUENCE

if TYPE_CHECKING:
    from poolsplit.replay.workload import Request, Run


def planned_output(request: Request, max_new: int) -> tuple[Run, ...]:
    """The output as it will come, up to the stop token or the clipped length limit.

    At least one token always comes. A request that ignores its stop token repeats it up to the limit.
    """
    limit = max(1, max_new)
    runs = list(request.output)
    if request.stops:
        runs = [*_cut(request.output, request.output_tokens - 1), (END_OF_SEQUENCE, 1)]
        if request.ignores_stop:
            runs += [(END_OF_SEQUENCE, 1)] * max(0, limit - request.output_tokens)
    return tuple(_cut(runs, limit))


def _cut(runs: list[Run] | tuple[Run, ...], length: int) -> list[Run]:
    kept: list[Run] = []
    for start, count in runs:
        if length <= 0:
            break
        kept.append((start, min(count, length)))
        length -= count
    return kept
