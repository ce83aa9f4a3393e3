"""Request traces: read, made, converted and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

    from poolsplit.traces.trace import Trace


def read_trace(files: Sequence[str], **reading: Any) -> Trace:
    """One trace from files, folders or `-`.

    Args:
        files: What to read.
        **reading: Fields of `poolsplit.traces.reading.ReadOptions`.

    Raises:
        UsageError: An unknown format or dialect.
        TraceFormatError: Nothing recognised, files of two formats, or a bad file.
    """
    from poolsplit.traces.formats import read_trace as read
    from poolsplit.traces.reading import ReadOptions

    return read(files, ReadOptions(**reading))


def trace_document(trace: Trace) -> dict[str, Any]:
    """What a trace holds, as the command line's JSON names it."""
    from poolsplit.traces.answers import info_document

    return info_document(trace)


def make_trace(preset: str, *, seed: int, parameters: Mapping[str, str]) -> tuple[Trace, list[dict[str, Any]]]:
    """A generated trace, and every parameter that made it.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    from poolsplit.traces.synthetic import parameter_steps, synthesise

    trace, workload = synthesise(preset, seed=seed, parameters=parameters)
    return trace, parameter_steps(workload, seed)


def sample_trace(name: str) -> Trace:
    """One of the made traces that `form_choices` names.

    Raises:
        UsageError: There is none of this name.
    """
    from poolsplit.answers.trace_samples import sample_trace as made

    return made(name)


def trace_parameters(preset: str, *, seed: int, parameters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every parameter that a trace would be made with, with value, unit and meaning.

    Raises:
        UsageError: An unknown preset or parameter, or a value that is not one.
    """
    from poolsplit.traces.synthetic import parameters_of

    return parameters_of(preset, seed=seed, parameters=parameters)


def trace_writer(trace: Trace, target: str, block_tokens: int | None) -> tuple[Callable[[IO[bytes]], None], list[str]]:
    """What writes a trace in a format, and what of it the format cannot say.

    Raises:
        UsageError: A format that cannot be written.
        InputError: The trace lacks what the format needs.
    """
    from poolsplit.traces.convert import prepare

    return prepare(trace, target, block_tokens)


def record_trace(
    files: Sequence[str], *, salt: bytes, target: str, skip_bad: bool, **cutting: Any
) -> tuple[Callable[[IO[bytes]], None], list[str], dict[str, Any]]:
    """What writes a recording of request logs, what it loses, and its facts.

    Args:
        files: Logs, one request a line.
        salt: The user's secret.
        target: A format to write; `mooncake` keeps the hashes as ids.
        skip_bad: Leave bad lines out and count them.
        **cutting: Fields of `poolsplit.traces.recording.CutOptions`.

    Raises:
        InputError: The salt is too short.
        TraceFormatError: A bad line, or nothing that was answered.
    """
    from poolsplit.traces import answers

    recording, faults = answers.record(files, salt=salt, options=cutting, skip_bad=skip_bad)
    trace = answers.recording_trace(recording, faults)
    writer, lost = trace_writer(trace, target, None)
    if target == "mooncake":
        writer = answers.recording_writer(recording)
    return writer, lost, trace_document(trace)
