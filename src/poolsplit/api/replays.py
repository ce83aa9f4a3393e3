"""A trace replayed at one split, and what each change of the cache would be worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from poolsplit.answers.replay_request import ReplayRequest
    from poolsplit.answers.trace_levers import CacheLever
    from poolsplit.traces.trace import Trace


def prepare_replay() -> None:
    """Compiles the replay's kernel, or takes it from disk, so that the next replay runs at once."""
    from poolsplit.answers.replaying import prepare

    prepare()


def replay_batch(lines: Iterable[bytes]) -> Iterator[bytes]:
    """One line of decisions for each line of workload, in the form of the golden files.

    Raises:
        TraceFormatError: A line that is not a workload.
        InputError: A workload whose options cannot go together.
    """
    from poolsplit.answers.replaying import replay_batch as answers

    return answers(lines)


def replay_request(*, split: Mapping[str, Any], pace: Mapping[str, Any]) -> ReplayRequest:
    """What a command line asks of a replay; unset words are None.

    Raises:
        InputError: A plan that cannot be read, or a count or rate that is none.
        UsageError: No pools.
    """
    from poolsplit.answers.replay_request import replay_request as read
    from poolsplit.answers.replaying import DEFAULT_VERSION

    return read(split, pace, DEFAULT_VERSION)


def replay_trace(
    trace: Trace, request: ReplayRequest, progress: Callable[[int], None] | None = None
) -> tuple[dict[str, Any], list[dict[str, float]]]:
    """One replay of a trace as a document, and both pools over time. An interrupt keeps what is known so far.

    Args:
        trace: Requests with block ids.
        request: The server and the clock.
        progress: Takes the number of requests sent, now and then.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: A pool ran out in the middle of a step, which stops the engine, too.
    """
    from poolsplit.answers.trace_replay import document_of, replay_of
    from poolsplit.answers.trace_timeline import Timeline

    timeline = Timeline(progress=progress)
    answer = replay_of(trace, version=request.version, server=request.server, pace=request.pace, progress=timeline.look)
    return document_of(answer, request), timeline.points


def cache_levers(request: ReplayRequest) -> tuple[CacheLever, ...]:
    """Chunk sizes, track intervals, caps a path, strategies and policies other than the request's, one change each.

    Raises:
        InputError: A release whose cache is not known, or options that cannot go together.
    """
    from poolsplit.answers.trace_levers import levers_of

    return levers_of(request.server, request.version)


def price_levers(
    trace: Trace,
    request: ReplayRequest,
    levers: Sequence[CacheLever],
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Hits and running requests of one trace at one split, as asked and under each change, as a document.

    Args:
        trace: Requests with block ids.
        request: The server and the clock.
        levers: Changes, from `cache_levers` or made.
        progress: Takes the number of requests sent over all replays, now and then.

    Raises:
        InputError: Lengths only, no common clock, options that cannot go together.
        InfeasiblePlanError: The server as asked runs out of a pool in the middle of a step.
    """
    from poolsplit.answers.trace_levers import priced

    return priced(trace, request, levers, progress)


def timeline_columns(points: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Both pools over time, a list of numbers for each column."""
    from poolsplit.answers.trace_timeline import to_columns

    return to_columns(points)


def timeline_csv(points: Sequence[Mapping[str, float]]) -> str:
    """Both pools over time as CSV."""
    from poolsplit.answers.trace_timeline import to_csv

    return to_csv(points)
