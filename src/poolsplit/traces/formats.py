"""All formats by name, telling one from another, and reading files of any of them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from poolsplit.errors import TraceFormatError, UsageError
from poolsplit.traces.checks import check
from poolsplit.traces.detect import detect
from poolsplit.traces.reading import NONE_SKIPPED
from poolsplit.traces.sources import Source, list_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: the module that reads it, and how its files may be read."""

    name: str
    module: str
    summary: str
    dialects: tuple[str, ...] = ()

    def reader(self) -> Any:
        """The module's `read(sources, options)`."""
        return import_module(f"poolsplit.traces.{self.module}").read


FORMATS = {
    form.name: form
    for form in (
        Format(name="pst", module="compact", summary="the compact file of this program"),
        Format(name="mooncake", module="mooncake", summary="Mooncake JSONL", dialects=("full", "incremental")),
        Format(name="weka", module="weka", summary="Weka / cc-traces sessions", dialects=("relative", "absolute")),
        Format(name="bailian", module="bailian", summary="Qwen-Bailian JSONL"),
        Format(name="token-trace", module="token_trace", summary="token ids a line"),
        Format(name="agentic-trace", module="agentic_trace", summary="conversations with prompt lengths"),
        Format(name="shared-prefix", module="shared_prefix", summary="arguments of a generated shared prefix"),
        Format(name="tracelab", module="tracelab", summary="TraceLab rounds JSONL"),
        Format(name="azure", module="length_csv", summary="Azure CSV of lengths"),
        Format(name="burstgpt", module="length_csv", summary="BurstGPT CSV of lengths"),
        Format(name="sharegpt", module="chat", summary="ShareGPT conversations"),
        Format(name="openai", module="chat", summary="OpenAI chat requests JSONL"),
    )
}


def read_trace(paths: Sequence[str], options: ReadOptions) -> Trace:
    """Reads files, folders or standard input as one trace, in the format that they have or that is asked for.

    Raises:
        UsageError: An unknown format or dialect.
        TraceFormatError: Nothing recognised, files of two formats, or a bad file.
    """
    names, notes = list_files(paths)
    if not names:
        raise UsageError("no trace was named", hint="give a file, a folder or `-`")
    with ExitStack() as opened:
        first = opened.enter_context(closing(Source(names[0])))
        form = _format_of(first, options)
        sources = _same_format(first, _open_each(names[1:], opened), form, options)
        trace: Trace = form.reader()(sources, options)
    if not len(trace):
        raise TraceFormatError(
            "the trace holds no requests",
            hint=NONE_SKIPPED if options.skip_bad else "is the file empty?",
            where=names[0],
        )
    if len(names) > 1 and trace.origin.clock == "trace":
        notes.append(f"{len(names)} files are read as one stream of requests on one clock")
    return check(_with_notes(trace, notes))


def _open_each(names: Sequence[str], opened: ExitStack) -> Iterator[Source]:
    for name in names:
        yield opened.enter_context(closing(Source(name)))


def _format_of(source: Source, options: ReadOptions) -> Format:
    name = options.format or detect(source)
    if name is None:
        raise TraceFormatError(
            "the format is not recognised",
            hint=f"name it with `--format`: {', '.join(FORMATS)}",
            where=source.name,
        )
    if name not in FORMATS:
        raise UsageError(f"there is no trace format `{name}`", hint=f"the formats are {', '.join(FORMATS)}")
    form = FORMATS[name]
    if options.dialect is not None and options.dialect not in form.dialects:
        known = ", ".join(form.dialects) or "none"
        raise UsageError(f"`{name}` has no dialect `{options.dialect}`", hint=f"its dialects are: {known}")
    return form


def _same_format(first: Source, more: Iterator[Source], form: Format, options: ReadOptions) -> Iterator[Source]:
    yield first
    for source in more:
        found = options.format or detect(source)
        if found != form.name:
            raise TraceFormatError(
                f"the file is {found or 'of no known format'}, and the first file is {form.name}",
                hint="read one format at a time, or name it with `--format`",
                where=source.name,
            )
        yield source


def _with_notes(trace: Trace, notes: Sequence[str]) -> Trace:
    from dataclasses import replace

    if not notes:
        return trace
    return replace(trace, origin=replace(trace.origin, notes=(*trace.origin.notes, *notes)))
