"""Synthetic question answering over documents: a system prompt, one document, a question, sometimes another.

Documents are asked about unevenly, so their prompts share long beginnings across sessions. The defaults are
assumptions; set them to your own figures.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.traces.draws import Draws
from poolsplit.traces.parameters import Alpha, Count, Length, Mean, Median, Rate, Seconds, Sigma, Span  # noqa: TC001  read at run time
from poolsplit.traces.synthetic_rows import Planned, Planner, Service

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class RagWorkload:
    """Parameters of the document generator; `*_sigma` are those of lognormal distributions."""

    requests: Count = 10_000
    """Requests in all."""
    block_tokens: Count = 64
    """Tokens of one block."""
    documents: Count = 500
    """Different documents."""
    document_zipf_alpha: Alpha = 1.0
    """How unevenly they are asked about: weight 1 / rank^alpha."""
    document_median_tokens: Median = 8_000
    """Tokens of a document."""
    document_sigma: Sigma = 0.8
    """Its spread."""
    system_tokens: Length = 500
    """Tokens of the one system prompt."""
    questions_mean: Mean = 1.5
    """Questions a session asks about its document, mean of a geometric number."""
    question_median_tokens: Median = 60
    """Tokens of a question."""
    question_sigma: Sigma = 0.6
    """Its spread."""
    output_median_tokens: Median = 150
    """Answer."""
    output_sigma: Sigma = 0.8
    """Its spread."""
    think_median_s: Seconds = 30
    """Time between an answer and the next question."""
    think_sigma: Sigma = 1.0
    """Its spread."""
    service_base_s: Seconds = 0.3
    """Service time: this, plus the answer at one rate, plus the new part of the prompt at another."""
    decode_tokens_per_s: Rate = 60
    """Rate of answers."""
    prefill_tokens_per_s: Rate = 20_000
    """Rate of prompts."""
    span_s: Span = 3_600
    """Sessions begin at random within this span."""


def generate(workload: RagWorkload, seed: int) -> Trace:
    """The trace of a workload; the same seed gives the same trace."""
    draws = Draws(seed)
    weights = draws.zipf_weights(workload.documents, workload.document_zipf_alpha)
    sizes = [
        max(int(draws.lognormal(workload.document_median_tokens, workload.document_sigma)), 1)
        for _ in range(workload.documents)
    ]
    planner = Planner(block_tokens=workload.block_tokens, scope_per_session=False)
    sessions = 0
    while len(planner) < workload.requests:
        document = min(bisect_left(weights, draws.uniform()), workload.documents - 1)
        rows = _session(workload, draws, document, workload.system_tokens + sizes[document])
        planner.add_session(rows[: workload.requests - len(planner)])
        sessions += 1
    return planner.trace("synth:rag", draws.sorted_times(sessions, workload.span_s))


def _session(workload: RagWorkload, draws: Draws, document: int, opening_tokens: int) -> list[Planned]:
    service = Service(
        base_s=workload.service_base_s,
        decode_tokens_per_s=workload.decode_tokens_per_s,
        prefill_tokens_per_s=workload.prefill_tokens_per_s,
    )
    rows: list[Planned] = []
    context = opening_tokens
    openings = ((f"document {document}", opening_tokens), ("system", workload.system_tokens))
    for turn in range(draws.geometric(workload.questions_mean)):
        kept = rows[-1].input_tokens if rows else 0
        think_s = draws.lognormal(workload.think_median_s, workload.think_sigma) if turn else 0.0
        context += max(int(draws.lognormal(workload.question_median_tokens, workload.question_sigma)), 1)
        output = max(int(draws.lognormal(workload.output_median_tokens, workload.output_sigma)), 1)
        rows.append(
            Planned(
                arrival_s=rows[-1].end_s + think_s if rows else 0.0,
                input_tokens=context,
                output_tokens=output,
                service_s=service.seconds(new_tokens=context - kept, output_tokens=output),
                think_s=think_s,
                after=turn - 1,
                before=turn - 1,
                kept_tokens=kept,
                openings=openings if turn == 0 else (),
            )
        )
        context += output
    return rows
