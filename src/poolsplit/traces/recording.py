"""Chat requests without their text: salted block hashes, lengths and times.

What a line becomes is decided here for the recorder and for the readers of chat logs alike. No text leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from poolsplit.errors import UsageError
from poolsplit.traces.chat_log import BadRowError, ChatRequest, chat_request
from poolsplit.traces.reading import MOST_TOKENS, Faults, decode_documents, fault
from poolsplit.traces.text_blocks import BLOCK_TOKENS, BYTES_PER_TOKEN, TextCutter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints

_CALIBRATION_REQUESTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOptions:
    """How text becomes tokens and blocks."""

    tokenizer: str | None = None
    bytes_per_token: float | None = None
    answer_tokens: int | None = None
    salt: bytes = b""
    block_tokens: int = BLOCK_TOKENS

    def __post_init__(self) -> None:
        if self.bytes_per_token is not None and not 0 < self.bytes_per_token < float("inf"):
            raise UsageError(f"`--bytes-per-token` is {self.bytes_per_token}", hint="a token has about 4 bytes")
        if self.answer_tokens is not None and not 0 <= self.answer_tokens <= MOST_TOKENS:
            raise UsageError(f"`--answer-tokens` is {self.answer_tokens}", hint="give a number of tokens from 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request; None is not recorded."""

    arrival_s: float | None
    service_s: float | None
    session: str | None
    input_tokens: int
    output_tokens: int
    hashes: Ints
    """Chained 60-bit hashes of its blocks.

    Shapes:
        (ceil(input_tokens / block),)
    """


@dataclass(slots=True)
class Recording:
    """Requests of a log and how sure their figures are."""

    requests: list[Recorded] = field(default_factory=list)
    failed: int = 0
    estimated: bool = False
    bytes_per_token: float | None = None

    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know."""
        notes = []
        if self.bytes_per_token is not None:
            lengths = "lengths and block boundaries are" if self.estimated else "block boundaries are"
            notes.append(f"{lengths} estimated from bytes, {self.bytes_per_token:.2f} a token; a tokenizer is exact")
        if self.failed:
            notes.append(f"requests that the server did not answer and that are left out: {self.failed}")
        return tuple(notes)


def record_log(sources: Iterable[Source], options: CutOptions, faults: Faults) -> Recording:
    """Requests of logs, one JSON object a line.

    Raises:
        TraceFormatError: A line that is no chat request, or one whose answer has no length.
    """
    lines = (
        (source.name, line, row) for source in sources for line, row in decode_documents(source, dict[str, Any], faults)
    )
    return record_requests(_requests(lines, faults), options, faults)


def _requests(
    lines: Iterable[tuple[str, int, dict[str, Any]]], faults: Faults
) -> Iterator[tuple[str, int, ChatRequest]]:
    for name, line, row in lines:
        try:
            yield name, line, chat_request(row)
        except BadRowError as error:
            faults.reject(fault(name, line, str(error), error.path))


def record_requests(requests: Iterable[tuple[str, int, ChatRequest]], options: CutOptions, faults: Faults) -> Recording:
    """Hashes, lengths and times of requests, each with its file and line."""
    recording = Recording()
    stream = iter(requests)
    first = [found for found, _ in zip(stream, range(_CALIBRATION_REQUESTS), strict=False)]
    if options.tokenizer is None:
        recording.bytes_per_token = options.bytes_per_token or _calibrated([request for *_, request in first])
    cutter = TextCutter(
        tokenizer=options.tokenizer,
        bytes_per_token=recording.bytes_per_token or BYTES_PER_TOKEN,
        salt=options.salt,
        block_tokens=options.block_tokens,
    )
    for name, line, request in _chained(first, stream):
        if request.failed:
            recording.failed += 1
            continue
        recorded = _recorded(request, cutter, options.answer_tokens)
        if recorded is None:
            faults.reject(fault(name, line, "nothing says how long the answer was; see `--answer-tokens`", "$.usage"))
            continue
        recording.requests.append(recorded)
        recording.estimated |= options.tokenizer is None and request.input_tokens is None
    return recording


def _chained(
    first: list[tuple[str, int, ChatRequest]], rest: Iterator[tuple[str, int, ChatRequest]]
) -> Iterator[tuple[str, int, ChatRequest]]:
    yield from first
    yield from rest


def _calibrated(requests: list[ChatRequest]) -> float:
    """Bytes of a token in requests that say their length; the usual figure when none does."""
    known = [(len(request.prompt.encode()), request.input_tokens) for request in requests if request.input_tokens]
    size, tokens = sum(size for size, _ in known), sum(tokens for _, tokens in known)
    return size / tokens if size and tokens else BYTES_PER_TOKEN


def _recorded(request: ChatRequest, cutter: TextCutter, answer_tokens: int | None) -> Recorded | None:
    output_tokens = request.output_tokens
    if output_tokens is None and request.answer is not None:
        output_tokens = cutter.count(request.answer)
    if output_tokens is None:
        output_tokens = answer_tokens
    if output_tokens is None:
        return None
    tokens = cutter.count(request.prompt) if request.input_tokens is None else request.input_tokens
    return Recorded(
        arrival_s=request.arrival_s,
        service_s=request.service_s,
        session=cutter.pseudonym(request.session),
        input_tokens=tokens,
        output_tokens=output_tokens,
        hashes=np.array(cutter.block_hashes(request.prompt, tokens), dtype=np.int64),
    )


def mooncake_lines(recording: Recording) -> Iterator[bytes]:
    """The requests as Mooncake JSONL in order of arrival, times in milliseconds from the first, ids the hashes.

    Requests without a time keep their order and have no timestamp.
    """
    requests = recording.requests
    timed = all(request.arrival_s is not None for request in requests)
    if timed:
        requests = sorted(requests, key=lambda request: request.arrival_s or 0.0)
    zero = (requests[0].arrival_s or 0.0) if timed and requests else 0.0
    for request in requests:
        row: dict[str, Any] = {"timestamp": round(((request.arrival_s or 0.0) - zero) * 1000)} if timed else {}
        row |= {
            "input_length": request.input_tokens,
            "output_length": request.output_tokens,
            "hash_ids": request.hashes.tolist(),
        }
        yield msgspec.json.encode(row) + b"\n"
