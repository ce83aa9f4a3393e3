"""Writing traces: bytes to a file or stdout, and a word on what was written and lost."""

from __future__ import annotations

import gzip
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.cli.output import line_width, replacing, to_json
from poolsplit.errors import InputError, UsageError
from poolsplit.report.folding import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import IO

    from poolsplit.cli.trace_options import WriteFlags

_SUFFIXES = {".pst": "pst", ".jsonl": "mooncake", ".csv": "azure"}


def target_of(flags: WriteFlags, asked: str | None, default: str) -> str:
    """Format to write: as asked, else by the file's name, else the default."""
    name = flags.output.removesuffix(".gz")
    return asked or next((form for suffix, form in _SUFFIXES.items() if name.endswith(suffix)), default)


def made_target_of(flags: WriteFlags, asked: str | None) -> str:
    """Format of a made trace: as asked, else the compact one, which alone keeps all of it.

    Raises:
        UsageError: The file's name tells of another format, which nobody asked for.
    """
    named = target_of(flags, None, "pst")
    if asked is None and named != "pst":
        raise UsageError(
            f"the name tells of {named}, which keeps neither the blocks nor the sessions of a made trace as they are",
            where=flags.output,
            hint=f"name the file `.pst`, or ask for it all the same with `--to {named}`",
        )
    return asked or named


def write_trace(
    flags: WriteFlags, writer: Callable[[IO[bytes]], None], *, document: dict[str, Any], lost: Sequence[str]
) -> None:
    """Writes the trace whole or not at all, then says what was written.

    Raises:
        UsageError: JSON is asked for on the standard output that the trace takes, or a terminal would get bytes.
        InputError: The file cannot be written.
    """
    to_stdout = flags.output == "-"
    if flags.json and to_stdout:
        raise UsageError("`--json` needs a file for the trace", hint="give it with `-o FILE`")
    if to_stdout and document["to"] == "pst" and sys.stdout.isatty():
        raise UsageError("a compact trace is no text for a terminal", hint="write it to a file with `-o FILE`")
    with _target(flags.output) as out:
        writer(out)
    if flags.json:
        sys.stdout.write(to_json({**document, "written": flags.output, "lost": list(lost)}) + "\n")
    elif not flags.quiet:
        _say(document, flags.output, lost, stream=sys.stderr if to_stdout else sys.stdout)


def write_steps(steps: Sequence[Mapping[str, Any]]) -> None:
    """Parameters with value, unit and meaning, one a line."""
    for step in steps:
        value = "unset" if step["value"] is None else step["value"]
        flag = "--" + step["name"].replace("_", "-")
        print(fold(f"{flag:34} {value!s:>10} {step['unit']:9} {step['source']}", line_width()))


def read_salt(path: str | None) -> bytes:
    """The user's secret, from a file or from POOLSPLIT_SALT.

    Raises:
        UsageError: Neither is given.
        InputError: The file cannot be read.
    """
    if path is None:
        salt = os.environ.get("POOLSPLIT_SALT", "").encode()
        if not salt:
            raise UsageError(
                "recording needs a salt",
                hint="`head -c 32 /dev/urandom > salt`, then `--salt-file salt`; keep it secret",
            )
        return salt
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", hint="name a file that you may read", where=path
        ) from None


def _say(document: dict[str, Any], path: str, lost: Sequence[str], *, stream: IO[str]) -> None:
    where = "standard output" if path == "-" else path
    sessions = f" in {document['sessions']} sessions" if document["sessions"] is not None else ""
    print(f"wrote {document['requests']} requests{sessions} as {document['to']} to {where}", file=stream)
    for warning in document["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    for item in lost:
        print(f"lost: {item}", file=sys.stderr)


@contextmanager
def _target(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        return
    with replacing(path) as handle:
        if path.endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=handle, mode="wb", mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield handle
