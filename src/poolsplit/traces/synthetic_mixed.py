"""Synthetic mixture: chat, documents and agents on one clock, sharing nothing with each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.traces import synthetic_agent, synthetic_chat, synthetic_rag
from poolsplit.traces.join import join
from poolsplit.traces.parameters import Count, Fraction, Span  # noqa: TC001  read at run time

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedWorkload:
    """Parameters of the mixture; each part has the defaults of its own generator."""

    requests: Count = 20_000
    """Requests in all."""
    block_tokens: Count = 64
    """Tokens of one block."""
    chat_fraction: Fraction = 0.5
    """Share of requests that are chat."""
    rag_fraction: Fraction = 0.3
    """Share of requests about documents; the rest are agents'."""
    span_s: Span = 3_600
    """Sessions begin at random within this span."""


def generate(workload: MixedWorkload, seed: int) -> Trace:
    """The trace of a workload; the same seed gives the same trace.

    Raises:
        InputError: The shares exceed one.
    """
    chat = round(workload.requests * workload.chat_fraction)
    rag = round(workload.requests * workload.rag_fraction)
    agent = workload.requests - chat - rag
    if agent < 0:
        raise InputError(
            "the shares of chat and documents exceed 1", hint="lower `--chat-fraction` or `--rag-fraction`"
        )
    size, span_s = workload.block_tokens, workload.span_s
    parts: list[Trace] = []
    if chat:
        load = synthetic_chat.ChatWorkload(requests=chat, block_tokens=size, span_s=span_s)
        parts.append(synthetic_chat.generate(load, seed))
    if rag:
        documents = synthetic_rag.RagWorkload(requests=rag, block_tokens=size, span_s=span_s)
        parts.append(synthetic_rag.generate(documents, seed + 1))
    if agent:
        agents = synthetic_agent.AgentWorkload(requests=agent, block_tokens=size, span_s=span_s)
        parts.append(synthetic_agent.generate(agents, seed + 2))
    return join(parts, "synth:mixed")
