"""Chat texts: ShareGPT conversations and logs of OpenAI-style requests.

Every answer of a ShareGPT conversation is one request, whose prompt is everything said before it. Texts become tokens
through the tokenizer that the user names; without one they are estimated from bytes and the trace says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.builder import Batch, SessionLog, TraceBuilder, zeros
from poolsplit.traces.chat_log import ChatRequest, message_text
from poolsplit.traces.clocks import gaps
from poolsplit.traces.detect import detect
from poolsplit.traces.reading import Faults, column, decode_documents, fault, json_lines
from poolsplit.traces.recording import CutOptions, Recording, record_log, record_requests
from poolsplit.traces.text_blocks import BLOCK_TOKENS
from poolsplit.traces.trace import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Trace

_ANSWERERS = {"gpt", "assistant", "chatgpt", "bing", "bard", "model"}


class Conversation(msgspec.Struct):
    """One ShareGPT entry."""

    conversations: list[dict[str, Any]] = msgspec.field(default_factory=list)
    conversation: list[dict[str, Any]] = msgspec.field(default_factory=list)
    id: str | int | None = None


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads conversations or request logs.

    Raises:
        TraceFormatError: A bad line, or nothing that was answered.
    """
    faults = Faults(skip=options.skip_bad)
    first, *more = sources
    name = options.format or detect(first)
    cut = CutOptions(
        tokenizer=options.tokenizer,
        answer_tokens=options.answer_tokens,
        block_tokens=options.block_tokens or BLOCK_TOKENS,
    )
    if name == "sharegpt":
        recording = record_requests(_sharegpt([first, *more], faults), cut, faults)
    else:
        recording = record_log([first, *more], cut, faults)
    if not recording.requests:
        raise TraceFormatError("the trace holds no answered requests", hint="is the file empty?", where=first.name)
    return to_trace(recording, cut.block_tokens, name or "openai", faults)


def _sharegpt(sources: Iterable[Source], faults: Faults) -> Iterator[tuple[str, int, ChatRequest]]:
    for source in sources:
        if json_lines(source.head) and not source.head.lstrip().startswith(b"["):
            documents = decode_documents(source, Conversation, faults)
        else:
            documents = (
                (1, entry) for _, entries in decode_documents(source, list[Conversation], faults) for entry in entries
            )
        for place, (line, entry) in enumerate(documents):
            for request in _answered(entry, f"{source.name}#{place}"):
                if isinstance(request, str):
                    faults.reject(fault(source.name, line, request, f"$[{place}].conversations"))
                    break
                yield source.name, line, request


def _answered(entry: Conversation, fallback: str) -> Iterator[ChatRequest | str]:
    """A request for each answer, or what is wrong."""
    said: list[str] = []
    session = fallback if entry.id is None else f"{fallback.split('#', 1)[0]}#{entry.id}"
    for message in entry.conversations or entry.conversation:
        role = str(message.get("from", message.get("role", "")))
        text = message.get("value", message.get("content"))
        if not isinstance(text, str):
            yield "a message has no text"
            return
        if role.lower() in _ANSWERERS and said:
            yield ChatRequest(
                prompt="\n".join(said),
                answer=text,
                arrival_s=None,
                service_s=None,
                session=session,
                input_tokens=None,
                output_tokens=None,
                failed=False,
            )
        said.append(message_text({"role": role, "content": text}))


def to_trace(recording: Recording, block_tokens: int, name: str, faults: Faults) -> Trace:
    """The trace of recorded requests; hashes of one salt are one id space."""
    requests = recording.requests
    timed = all(request.arrival_s is not None for request in requests)
    if timed:
        requests = sorted(requests, key=lambda request: request.arrival_s or 0.0)
    arrival_s = column([request.arrival_s if timed else None for request in requests])
    arrival_s -= arrival_s[0] if timed else 0.0
    service_s = column([request.service_s for request in requests])
    log = SessionLog()
    session, after = log.place([request.session for request in requests], 0)
    builder = TraceBuilder()
    builder.add(
        Batch(
            arrival_s=arrival_s,
            session=session,
            scope=zeros(len(requests)),
            agent=zeros(len(requests)),
            after=after,
            input_tokens=np.array([request.input_tokens for request in requests], dtype=np.int64),
            output_tokens=np.array([request.output_tokens for request in requests], dtype=np.int64),
            think_s=gaps(arrival_s, service_s, after),
            service_s=service_s,
            ids=np.concatenate([request.hashes for request in requests]),
            ends=np.cumsum([request.hashes.size for request in requests]),
        )
    )
    known = all(request.session is not None for request in requests)
    origin = Origin(
        format=name,
        dialect="text",
        clock="trace" if timed else "order",
        sessions_known=known,
        lengths="estimated" if recording.estimated else "exact",
        notes=(*recording.notes(), *faults.notes()),
    )
    return builder.trace(origin=origin, block_tokens=block_tokens, session_names=log.names if known else ())
