"""How fast the server was, from its `Prefill batch` and `Decode batch` lines.

Both print tokens over the time since the line of their kind before. A prefill line's time is therefore that of the
batch before it, and only when no decode line stands between; a decode line's time is that of its own steps when the
line before is a decode line with as many running.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Batch
from poolsplit.engines.sglang.boot_log.batch_forms import batch
from poolsplit.engines.sglang.boot_log.records import RecordReader
from poolsplit.engines.sglang.boot_log.sources import expand, open_log
from poolsplit.engines.speed_lines import SpeedLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poolsplit.engines.sglang.boot_log.records import Record

_RATE = re.compile(r"(?:gen|input)throughput\(token/s\):(\d{1,15}(?:\.\d{1,9})?)(?=,|$|[^\d.])")
_STARTS_AGAIN = b"server_args"
_REPLAYED = "#replay-token:"
"""Tokens that are computed without being new: the rate covers more than the line's new tokens."""


def read_speeds(names: Sequence[str]) -> SpeedLines:
    """Observations from files, gzip files, folders or `-`, in order of time.

    Raises:
        InputError: A file cannot be read.

    Known error:
        Lines that a terminal has wrapped are not put together here and do not count.
    """
    watch = _Watch()
    for name in expand(names):
        with open_log(name) as stream:
            watch.read(stream)
    return watch.result()


@dataclass(slots=True)
class _Watch:
    """Keeps the last line of each rank label."""

    prefill: list[tuple[int, float]] = field(default_factory=list)
    decode: list[tuple[int, float]] = field(default_factory=list)
    prefill_lines: int = 0
    decode_lines: int = 0
    _before: dict[str, Batch] = field(default_factory=dict)

    def read(self, lines: Iterable[bytes]) -> None:
        """Takes one file; nothing is carried over from the one before."""
        self._before.clear()
        for line in lines:
            if _STARTS_AGAIN in line:
                self._before.clear()
            elif b" batch" in line:
                reader = RecordReader()
                for record in (*reader.feed(line), *reader.finish()):
                    self._take(record)

    def result(self) -> SpeedLines:
        return SpeedLines(
            prefill=tuple(self.prefill),
            decode=tuple(self.decode),
            prefill_lines=self.prefill_lines,
            decode_lines=self.decode_lines,
        )

    def _take(self, record: Record) -> None:
        line = batch(record)
        if not isinstance(line, Batch):
            return
        before = self._before.get(record.label)
        self._before[record.label] = line
        rate = _RATE.search(record.squeezed)
        per_s = float(rate[1]) if rate else 0.0
        if line.kind == "prefill":
            self.prefill_lines += 1
            if _REPLAYED not in record.squeezed:
                self._prefill(before, line, per_s)
        else:
            self.decode_lines += 1
            self._decode(before, line, per_s)

    def _prefill(self, before: Batch | None, line: Batch, per_s: float) -> None:
        """The gap is the new tokens over the printed rate; the batch before it took that long."""
        if before is not None and before.kind == "prefill" and before.new_tokens and line.new_tokens and per_s > 0:
            self.prefill.append((before.new_tokens, before.new_tokens / (line.new_tokens / per_s)))

    def _decode(self, before: Batch | None, line: Batch, per_s: float) -> None:
        steady = before is not None and before.kind == "decode" and before.running == line.running
        if steady and line.running and per_s > 0:
            self.decode.append((line.running, per_s / line.running))
