"""Raw log bytes to records: one message with its rank label, however the paste was mangled.

Handled here and nowhere else: colours, Windows line ends, invalid UTF-8, progress bars on the same line, a service
name before the bracket, quote marks, two messages on one line, and lines wrapped by a terminal or a page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.sglang.boot_log.figures import squeeze

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_CHARS = 200_000
"""Longer lines are cut: no form is longer, and memory stays bounded."""
MAX_RECORD_LINES = 24
MAX_RECORD_CHARS = 400_000
MAX_REPORT_LINES = 400
"""Lines of a reported exception that is still open where a chunk ends: more than its call stacks have."""

NO_LABEL = "-"

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_RANK = r"(?:DP|PP|TP|EP|ATTN_CP|MOE_DP|CP)\d{1,6}(?:\.\.\.?(?:DP|PP|TP|EP)?\d{1,6})?"
_PREFIX = re.compile(
    r"\[(?:(?:\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?)?|\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    rf"(?P<label>(?: [^\]\[]{{1,80}})?)|(?P<bare>{_RANK}(?: {_RANK})*))\]"
)
_LEADING = re.compile(r"^(?:[\w.-]{1,60} *\| ?|[>|│┃*`\s]+)+")
_BARE_RANK = re.compile(
    rf"(?:^|(?<=[\s,;]))(?P<label>{_RANK}(?: {_RANK})*)[:\s]+"
    r"(?=max_mamba_cache_size|Mamba Cache|KV Cache|max_total_num_tokens|Memory pool|Load weight)"
)
_PROGRESS = re.compile(r"\d{1,3}%\|? ?.{0,80}?\d+/\d+ ?\[[^\]]{0,120}\]")
_START = re.compile(
    r"Mamba Cache is |KV [Cc]ache (?:is )?(?:alloc|VA)|Memory (?:pool end|baseline)|Load weight (?:begin|end)|Capture "
    r"|max_total_num_tokens ?=|max_running_requests (?:is capped|was reduced)|(?:[\w.]+)?(?:Error|Exception)\b: "
    r"|Allocating |Tree cache init|Init (?:torch|Unified|attention)|server_args ?=|The server is|Loading |Warmup"
    r"|(?:Decode|Prefill) batch|Traceback |INFO[: ]|WARNING|Reserving |SIGQUIT|\[unified-memory-pool\]|# |\$ |File \""
    r"|(?:\S+/)?python3? |(?:sglang|vllm) serve|(?:vllm|trtllm|llama|ggml)\w*[: ]|int8 mamba|GDN Replay|Post-capture"
    r"|PP\d|TP\d|DP\d|\[kvcached\]|\(\w+ pid=|KV cache pool is full|KVPool|SWAKVPool|Use sliding|Capturing |docker "
    r"|Using |Reset |Beginning |\[rank\d+\]:|terminate called"
)
_REPORT = re.compile(r"hit an exception: *(?:Traceback|$)")
_STACK = re.compile(r"Traceback |File \"")
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?:: |:?$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One message of a log."""

    label: str
    """The rank text after the time, verbatim; `-` without one."""
    text: str
    """The message; wrapped parts are joined by one space."""
    squeezed: str
    """The message without white space."""
    wrapped: bool = False
    """Whether it was put together from several lines."""


class RecordReader:
    """Turns physical lines into records; feed lines, then finish.

    An exception that a process reports is one record, however long its call stack: its first line, and each line that
    names what was raised with the lines of its message.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._chars = 0
        self._label = NO_LABEL
        self._in_report = self._in_message = False

    @property
    def may_continue_for(self) -> int:
        """How many of the next lines may belong to the record that is open."""
        if not self._parts:
            return 0
        return MAX_REPORT_LINES if self._in_report else MAX_RECORD_LINES

    def feed(self, raw: bytes) -> Iterator[Record]:
        """Takes one physical line and gives the records that it completes."""
        text = raw[:MAX_LINE_CHARS].decode("utf-8", errors="replace")
        for part in _ESCAPES.sub("", text).replace("\r\n", "\n").split("\r"):
            yield from self._feed_part(part.rstrip("\n"))

    def finish(self, *, complete: bool = True) -> Iterator[Record]:
        """Gives the last record; one that may be cut in a number loses that number.

        Args:
            complete: Whether the last line ended in a line end, so that nothing of it is missing.
        """
        if self._parts and not complete:
            self._parts[-1] = re.sub(r"[-\d.,]+$", "", self._parts[-1])
        yield from self._flush()

    def _feed_part(self, part: str) -> Iterator[Record]:
        stripped = _LEADING.sub("", part)
        if not stripped.strip():
            self._in_message = False
            if not self._in_report:
                yield from self._flush()
            return
        for label, text in _messages(stripped):
            if label is not None:
                yield from self._flush()
                self._open(label, text)
            elif self._in_report and self._reported(text):
                continue
            elif self._parts and not _starts(text):
                self._continue(text)
            elif not _PROGRESS.search(text):
                yield from self._flush()
                self._open(None, text)

    def _open(self, label: str | None, text: str) -> None:
        self._parts, self._chars = [text], len(text)
        self._label = label or NO_LABEL
        self._in_report, self._in_message = _REPORT.search(text) is not None, False

    def _reported(self, text: str) -> bool:
        """Takes one more line of a reported exception; no when the line is none of it."""
        raised = _RAISED.match(text.lstrip()) is not None
        stacked = _STACK.match(text.lstrip()) is not None
        if not raised and not stacked and _starts(text):
            return False
        self._in_message = raised or (self._in_message and not stacked)
        if self._in_message:
            self._continue(text)
        return True

    def _continue(self, text: str) -> None:
        if len(self._parts) < MAX_RECORD_LINES and self._chars + len(text) < MAX_RECORD_CHARS:
            self._parts.append(text)
            self._chars += len(text)

    def _flush(self) -> Iterator[Record]:
        if not self._parts:
            return
        text = " ".join(part.strip() for part in self._parts)
        record = Record(
            label=self._label,
            text=text,
            squeezed=squeeze(text),
            wrapped=len(self._parts) > 1,
        )
        self._parts, self._chars = [], 0
        self._in_report = False
        yield record


def _starts(text: str) -> bool:
    return _START.match(text.lstrip()) is not None or _PROGRESS.search(text) is not None


def _messages(line: str) -> Iterator[tuple[str | None, str]]:
    """The messages of one line: each time bracket and each bare rank name before a known field starts one."""
    cuts: list[tuple[int, int, str]] = []
    for match in _PREFIX.finditer(line):
        if match["bare"] is not None and line[: match.start()].strip():
            continue
        cuts.append((match.start(), match.end(), match["bare"] or (match["label"] or "").strip() or NO_LABEL))
    if not cuts:
        cuts = [(match.start(), match.end(), match["label"]) for match in _BARE_RANK.finditer(line)]
    before = line[: cuts[0][0]] if cuts else line
    if before.strip() and not (cuts and _is_log_shipper(before)):
        yield None, before
    ends = [*(start for start, _, _ in cuts[1:]), len(line)]
    for (_, start, label), end in zip(cuts, ends, strict=False):
        yield label, line[start:end]


_SHIPPER = re.compile(r"^[\w.:/+\-\[\]() \ufffd]{0,120}[:|\] ]? *$")


def _is_log_shipper(text: str) -> bool:
    """Whether the text before the first bracket is a service, host or time that a log shipper put there."""
    return _SHIPPER.match(text) is not None and _START.match(text.lstrip()) is None
