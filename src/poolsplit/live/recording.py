"""Sessions on disk: one JSON line a look, wanted series only, without the launch's secrets; read back as if live."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError
from poolsplit.live.exposition import wanted_lines
from poolsplit.live.scrape import RawScrape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

    from poolsplit.live.exporter import Exporter

FORMAT = "poolsplit-live-session"
FORMAT_VERSION = 1
_LAST_MOMENT_S = 253_402_300_799
"""The end of the year 9999."""
_HINT = "record a session with `poolsplit watch URL --record FILE`"


class Recorder:
    """Appends looks to an open file; every line is whole when it is written."""

    def __init__(self, handle: IO[str], exporter: Exporter) -> None:
        self._handle = handle
        self._exporter = exporter
        self._begun = False

    def add(self, tick: int, raw: RawScrape) -> None:
        """One look of one server. The first one replaces what the file held; until then an older session stays."""
        if not self._begun:
            self._begin()
        lines = None if raw.metrics is None else list(wanted_lines(raw.metrics, self._exporter.is_wanted))
        self._write(
            {
                "tick": tick,
                "server": raw.server,
                "time_s": raw.time_s,
                "metrics": lines,
                "info": None if raw.info is None else self._exporter.trim_info(raw.info),
                "loads": raw.loads,
                "error": raw.error,
                "warnings": list(raw.warnings),
            }
        )

    def _begin(self) -> None:
        with contextlib.suppress(OSError):  # a device or a pipe holds nothing older
            self._handle.truncate(0)
        self._write({"format": FORMAT, "version": FORMAT_VERSION, "engine": self._exporter.engine})
        self._begun = True

    def _write(self, record: Mapping[str, Any]) -> None:
        self._handle.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
        self._handle.flush()


def read_session(path: str) -> Iterator[tuple[RawScrape, ...]]:
    """The looks of a recording, those of one tick together, in order.

    Raises:
        InputError: Not a recording, or a line of it is broken (the last one may be cut short).
    """
    tick: int | None = None
    looks: list[RawScrape] = []
    for number, record in _records(path):
        if record["tick"] != tick and looks:
            yield tuple(looks)
            looks = []
        tick = record["tick"]
        looks.append(_raw(record, where=f"{path}:{number}"))
    if looks:
        yield tuple(looks)


def is_session(path: str) -> bool:
    """Whether a file is a recording, by its first line."""
    try:
        with Path(path).open(encoding="utf-8") as handle:
            return FORMAT in handle.readline(200)
    except (OSError, UnicodeDecodeError):
        return False


def _records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        handle = Path(path).open(encoding="utf-8", errors="replace")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", hint=_HINT, where=path) from None
    with handle:
        header = _decode(handle.readline(), f"{path}:1")
        if header.get("format") != FORMAT or header.get("version") != FORMAT_VERSION:
            raise InputError("not a recorded session", hint=_HINT, where=path)
        for number, line in enumerate(handle, start=2):
            if not line.endswith("\n"):
                return  # cut short while it was written
            record = _decode(line, f"{path}:{number}")
            if not isinstance(record.get("tick"), int) or not _is_moment(record.get("time_s")):
                raise InputError("a line without `tick` and `time_s`", hint=_HINT, where=f"{path}:{number}")
            yield number, record


def _is_moment(value: object) -> bool:
    """Seconds since 1970 that a calendar can name."""
    return isinstance(value, (int, float)) and 0 <= value <= _LAST_MOMENT_S


def _decode(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("not a line of JSON", hint=_HINT, where=where) from None
    if not isinstance(record, dict):
        raise InputError("not a JSON object", hint=_HINT, where=where)
    return record


def _raw(record: Mapping[str, Any], *, where: str) -> RawScrape:
    lines: Sequence[str] | None = record.get("metrics")
    if lines is not None and not (isinstance(lines, list) and all(isinstance(line, str) for line in lines)):
        raise InputError("`metrics` is not a list of lines", hint=_HINT, where=where)
    error, warnings = record.get("error"), record.get("warnings")
    return RawScrape(
        server=str(record.get("server", "")),
        time_s=float(record["time_s"]),
        metrics=None if lines is None else "\n".join(lines),
        info=record.get("info"),
        loads=record.get("loads"),
        error=None if error is None else str(error),
        warnings=tuple(str(text) for text in warnings) if isinstance(warnings, list) else (),
    )
