"""Agentic traces: `{conversations: [[{messages, prompt_tokens}, ...], ...]}`, one list a conversation.

A turn's `messages` are only what is new in it, without the answers; `prompt_tokens` is the whole prompt. So a turn
keeps the whole prompt before it, and what `prompt_tokens` adds is new, the answer included. Conversations that begin
with the same messages share them; how many tokens those have is estimated by their bytes.

Answers have no recorded length: 220 tokens each, which is the usual assumption for such traces, or `--answer-tokens`.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from poolsplit.errors import TraceFormatError
from poolsplit.traces.reading import Faults, Length, decode_documents, fault
from poolsplit.traces.token_tree import TokenTree
from poolsplit.traces.trace import Origin
from poolsplit.traces.tree_trace import TreeTrace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Trace

ANSWER_TOKENS = 220


class Turn(msgspec.Struct):
    """One turn."""

    messages: list[dict[str, Any]]
    prompt_tokens: Length


class Document(msgspec.Struct):
    """The file."""

    conversations: list[list[Turn]]


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads conversations and chains their turns.

    Raises:
        TraceFormatError: A bad document, or a prompt shorter than the one before it.
    """
    faults = Faults(skip=options.skip_bad)
    reader = _Reader(options.answer_tokens or ANSWER_TOKENS)
    for source in sources:
        for line, document in decode_documents(source, Document, faults):
            for number, conversation in enumerate(document.conversations):
                shrunk = _shrinks(conversation)
                if shrunk is not None:
                    path = f"$.conversations[{number}][{shrunk}].prompt_tokens"
                    faults.reject(fault(source.name, line, "the prompt is shorter than the one before it", path))
                elif conversation:
                    reader.add(conversation)
    return reader.trace(faults)


def _shrinks(conversation: list[Turn]) -> int | None:
    pairs = enumerate(pairwise(conversation), 1)
    return next((place for place, (before, turn) in pairs if turn.prompt_tokens < before.prompt_tokens), None)


class _Reader:
    def __init__(self, answer_tokens: int) -> None:
        self._answer_tokens = answer_tokens
        self._trace = TreeTrace(TokenTree())
        self._tokens_of: dict[bytes, int] = {}
        self._conversations = 0

    def add(self, conversation: list[Turn]) -> None:
        """Adds one conversation."""
        leaf, before, tokens = -1, -1, 0
        for turn in conversation:
            row = len(self._trace)
            pieces = self._opening(turn) if before < 0 else [((row,), turn.prompt_tokens - tokens)]
            leaf = self._trace.add(
                pieces, behind=leaf, session=self._conversations, after=before, output_tokens=self._answer_tokens
            )
            before, tokens = row, turn.prompt_tokens
        self._conversations += 1

    def _opening(self, turn: Turn) -> list[tuple[Any, int]]:
        """Messages of a first turn as pieces; a beginning seen before has as many tokens as it had then."""
        encoded = [msgspec.json.encode(message) for message in turn.messages]
        total, left = sum(map(len, encoded)), turn.prompt_tokens
        chain, pieces = b"", []
        for place, text in enumerate(encoded):
            chain = blake2b(chain + text, digest_size=16).digest()
            last = place == len(encoded) - 1
            share = (
                left if last else min(left, self._tokens_of.setdefault(chain, turn.prompt_tokens * len(text) // total))
            )
            pieces.append((chain, share))
            left -= share
        return pieces or [((len(self._trace),), left)]

    def trace(self, faults: Faults) -> Trace:
        """All turns, conversation by conversation."""
        if not len(self._trace):
            raise TraceFormatError("the trace holds no conversations", hint="is the file empty?")
        origin = Origin(
            format="agentic-trace",
            dialect="increments with whole prompt lengths",
            clock="order",
            sessions_known=True,
            notes=(
                f"answers have no recorded length: {self._answer_tokens} tokens each",
                "what conversations share at their beginning is estimated by bytes",
                *faults.notes(),
            ),
        )
        return self._trace.trace(origin)
