"""What the command line asks of this room: documents, writers and recordings, each from plain values."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import IO, TYPE_CHECKING, Any

from poolsplit.errors import InputError, TraceFormatError
from poolsplit.traces.chat import to_trace
from poolsplit.traces.info import describe
from poolsplit.traces.reading import Faults
from poolsplit.traces.recording import CutOptions, mooncake_lines, record_log
from poolsplit.traces.sources import Source, list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from poolsplit.traces.recording import Recording
    from poolsplit.traces.trace import Trace

LEAST_SALT_BYTES = 16


def info_document(trace: Trace) -> dict[str, Any]:
    """Facts of a trace with warnings and how the main figures come about."""
    facts = describe(trace)
    return {**facts, "warnings": list(trace.origin.notes), "derivation": _derivation(facts)}


def _derivation(facts: dict[str, Any]) -> list[dict[str, Any]]:
    total = facts["input_tokens"]["sum"]
    steps = [
        ("format", facts["format"], "", f"field names of the first line; dialect {facts['dialect']}"),
        ("input_tokens.sum", total, "tokens", "whole prompts, never increments"),
        ("input_tokens.p90", facts["input_tokens"]["p90"], "tokens", "linear between the two nearest prompts"),
    ]
    if facts["unique_tokens"] is not None:
        reused = total - facts["unique_tokens"]
        steps += [
            ("reused_tokens", reused, "tokens", "longest prefix that an earlier prompt of the same scope has had"),
            ("infinite_reuse_fraction", facts["infinite_reuse_fraction"], "", "reused_tokens / input_tokens.sum"),
        ]
    names = ("name", "value", "unit", "source")
    return [dict(zip(names, step, strict=True)) for step in steps]


def record(names: Sequence[str], *, salt: bytes, options: dict[str, Any], skip_bad: bool) -> tuple[Recording, Faults]:
    """Requests of logs as salted hashes, lengths and times.

    Raises:
        InputError: The salt is too short to keep guesses out, or there is nothing to read.
        TraceFormatError: A bad line, or nothing that was answered.
    """
    if len(salt) < LEAST_SALT_BYTES:
        raise InputError(
            f"the salt has {len(salt)} bytes; {LEAST_SALT_BYTES} or more keep guessed texts from being checked",
            hint="make one with `head -c 32 /dev/urandom > salt` and keep it to yourself",
        )
    files, _ = list_files(names)
    if not files:
        raise InputError("no log was named", hint="give a file, a folder or `-`")
    faults = Faults(skip=skip_bad)
    with ExitStack() as opened:
        sources = (opened.enter_context(closing(Source(name))) for name in files)
        recording = record_log(sources, CutOptions(salt=salt, **options), faults)
    if not recording.requests:
        raise TraceFormatError(
            "the log holds no answered requests",
            hint="each line is one request with `messages` or `prompt`, and its answer or `usage`",
            where=files[0],
        )
    return recording, faults


def recording_writer(recording: Recording) -> Callable[[IO[bytes]], None]:
    """Writes a recording as Mooncake JSONL, ids as recorded: files of one salt can be joined."""

    def write(out: IO[bytes]) -> None:
        for line in mooncake_lines(recording):
            out.write(line)

    return write


def recording_trace(recording: Recording, faults: Faults) -> Trace:
    """A recording as a trace, sessions included."""
    return to_trace(recording, CutOptions().block_tokens, "recording", faults)
