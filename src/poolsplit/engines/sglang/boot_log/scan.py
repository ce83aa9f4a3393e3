"""One log stream to events, in bounded memory at the speed of a plain search.

A chunk is first read by the pattern of clean periodic lines. Only what that leaves over is searched for the words that
any other form contains, and only a chunk with such words is read line by line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Batch, Fact, Retraction
from poolsplit.engines.sglang.boot_log.lines import facts
from poolsplit.engines.sglang.boot_log.records import NO_LABEL, Record, RecordReader
from poolsplit.engines.sglang.boot_log.tally import ACCESS_LINES, FAST_GROUPS, FAST_LINES, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Protocol

    OtherForm = Callable[[str], "Fact | None"]

    class Readable(Protocol):
        """What gives bytes."""

        def read(self, size: int, /) -> bytes:
            """The next bytes; empty at the end."""
            ...


CHUNK_BYTES = 1 << 20
PART_BYTES = 1 << 15
"""What is read line by line at once, around a line of a start."""
MAX_EVENTS = 100_000
"""A server start has a few lines for each rank; beyond this a file is not a log of starts."""
KEPT_BATCHES = 32
EVIDENCE_CHARS = 400
RECENT_RECORDS = 64
"""Records whose facts are kept for when they come again: ranks and restarts print the same lines."""
RECENT_CHARS = 20_000

ORDERED_WORDS = (
    b"Cache is",
    b"KV cache alloc",
    b"Load weight",
    b"Memory pool end",
    b"Memory baseline",
    b"Capture ",
    b"max_total_num_tokens",
    b"max_running_requests",
    b"max_mamba_cache_size",
    b"server_args",
    b"launch_server",
    b"sglang serve",
    b"Not enough",
    b"too small to",
    b"leave no GPU",
    b"hierarchical",
    b"impl=",
    b"Init torch",
    b"fired up",
    b"unified-memory-pool",
    b"int8 mamba",
    b"ReplaySSM",
    b"Reserving ",
    b"sliding window memory",
    b"SWAKVPool",
    b"Breakable",
    b"auto-sizing",
    b"TreeCore",
    b"kvcached",
    b"SIGQUIT",
    b"sigquit",
    b"hit an exception",
    b"atchdog ",
    b"died during",
    b"with exit code",
    b"sglang.",
    b"vllm",
    b" pid=",
    b"mamba page size",
    b"attention block size",
    b"KV cache size",
    b"Maximum concurrency",
    b"tensorrt_llm",
    b"TensorRT-LLM",
    b"llama",
    b"TRT-LLM",
    b"max_slots_needed",
)
"""Words of lines whose place in the file matters."""
LOOSE_WORDS = (b" batch", b"Retract requests", b"tokens) exceeds", b"tokens. You requested", b"leak detected", b"Error")
"""Words of lines that only count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One fact and where it stood."""

    label: str
    fact: Fact | Tally
    text: str = ""


@dataclass(slots=True, kw_only=True)
class FileScan:
    """The events of one file, in order."""

    name: str
    events: list[Event] = field(default_factory=list)
    dropped_events: int = 0


def joined(scans: Sequence[FileScan]) -> FileScan:
    """The scans of consecutive stretches of one file as one."""
    first, *others = scans
    for scan in others:
        events = scan.events
        last = first.events[-1].fact if first.events else None
        if events and isinstance(last, Tally) and isinstance(events[0].fact, Tally):
            last.merge(events[0].fact)
            last.kept.extend(events[0].fact.kept[: KEPT_BATCHES - len(last.kept)])
            events = events[1:]
        first.events.extend(events)
        first.dropped_events += scan.dropped_events
    return first


class Scanner:
    """Reads one stream into a `FileScan`."""

    def __init__(self, name: str, other_forms: Iterable[OtherForm] = ()) -> None:
        self.result = FileScan(name=name)
        self._other_forms = tuple(other_forms)
        self._reader = RecordReader()
        self._kept = 0
        self._recent: dict[tuple[str, bool], tuple[Fact, ...]] = {}

    def run(self, stream: Readable, progress: Callable[[int], None] | None = None) -> FileScan:
        """Reads the stream to its end."""
        rest = b""
        while block := stream.read(CHUNK_BYTES):
            chunk = rest + block
            cut = chunk.rfind(b"\n") + 1
            if cut == 0 and len(chunk) < CHUNK_BYTES:
                rest = chunk
                continue
            chunk, rest = (chunk[:cut], chunk[cut:]) if cut else (chunk, b"")
            self._chunk(chunk)
            if progress:
                progress(len(block))
        self._lines(rest)
        self._take(self._reader.finish(complete=not rest))
        return self.result

    def _chunk(self, chunk: bytes) -> None:
        """Reads whole lines: at once where only periodic and access lines are in them, else in smaller parts."""
        open_lines = self._reader.may_continue_for
        if open_lines:
            cut = _after_lines(chunk, open_lines)
            self._lines(chunk[:cut])
            chunk = chunk[cut:]
        pieces = FAST_LINES.split(chunk)
        others = b"".join(pieces[:: FAST_GROUPS + 1])
        if b' - "' in others:
            others = ACCESS_LINES.sub(b"", others)
        if not self._first_batches(pieces) and not any(word in others for word in ORDERED_WORDS):
            self._fast(chunk, pieces, others)
        elif len(chunk) <= PART_BYTES or chunk.count(b"\n") <= 1:
            self._lines(chunk)
        else:
            for part in _parts(chunk):
                self._chunk(part)

    def _fast(self, chunk: bytes, pieces: list[bytes], others: bytes) -> None:
        self._take(self._reader.finish())
        if len(pieces) > 1:
            self._tally().add_chunk(chunk, pieces)
        if any(word in others for word in LOOSE_WORDS):
            self._lines(others)
            self._take(self._reader.finish())

    def _first_batches(self, pieces: list[bytes]) -> bool:
        return len(pieces) > 1 and self._kept < KEPT_BATCHES

    def _lines(self, chunk: bytes) -> None:
        if not chunk:
            return
        lines = chunk.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            self._take(self._reader.feed(line))

    def _take(self, records: Iterator[Record]) -> None:
        for record in records:
            for fact in self._facts(record):
                self._event(record, fact)

    def _facts(self, record: Record) -> tuple[Fact, ...]:
        """What a record says; one that repeats a recent one is not read again."""
        key = record.text, record.wrapped
        known = self._recent.get(key)
        if known is None:
            others = (form(record.text) for form in self._other_forms)
            foreign = next((fact for fact in others if fact is not None), None)
            known = tuple(facts(record)) if foreign is None else (foreign,)
            if len(record.text) <= RECENT_CHARS:
                if len(self._recent) >= RECENT_RECORDS:
                    self._recent.pop(next(iter(self._recent)))
                self._recent[key] = known
        return known

    def _event(self, record: Record, fact: Fact) -> None:
        if isinstance(fact, Batch):
            tally = self._tally()
            tally.add(fact)
            if self._kept < KEPT_BATCHES:
                self._kept += 1
                tally.kept.append((record.label, fact))
        elif isinstance(fact, Retraction):
            self._tally().retract(fact.requests)
        elif len(self.result.events) < MAX_EVENTS:
            text = record.text[:EVIDENCE_CHARS]
            self.result.events.append(Event(label=record.label, fact=fact, text=text))
        else:
            self.result.dropped_events += 1

    def _tally(self) -> Tally:
        """The totals of the start that is running now; new ones after any other line of a start."""
        events = self.result.events
        if not events or not isinstance(events[-1].fact, Tally):
            self._kept = 0
            events.append(Event(label=NO_LABEL, fact=Tally()))
        fact = events[-1].fact
        assert isinstance(fact, Tally)  # noqa: S101  just put there
        return fact


def _after_lines(chunk: bytes, count: int) -> int:
    """Where the first lines of a chunk end."""
    at = 0
    for _ in range(count):
        end = chunk.find(b"\n", at)
        if end < 0:
            return len(chunk)
        at = end + 1
    return at


def _parts(chunk: bytes) -> Iterator[bytes]:
    """The chunk in parts of whole lines."""
    at = 0
    while at < len(chunk):
        end = chunk.rfind(b"\n", at, at + PART_BYTES) + 1 or chunk.find(b"\n", at) + 1 or len(chunk)
        yield chunk[at:end]
        at = end
