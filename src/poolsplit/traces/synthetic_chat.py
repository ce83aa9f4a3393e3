"""Synthetic chat: people who ask and ask again, in front of a handful of system prompts.

The defaults are assumptions in the range of public chat traces (prompts of about a thousand tokens, answers of a few
hundred); set them to your own figures.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from poolsplit.traces.draws import Draws
from poolsplit.traces.parameters import Alpha, Count, Length, Mean, Median, Rate, Seconds, Sigma, Span  # noqa: TC001  read at run time
from poolsplit.traces.synthetic_rows import Planned, Planner, Service

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatWorkload:
    """Parameters of the chat generator; `*_sigma` are those of lognormal distributions."""

    requests: Count = 10_000
    """Requests in all."""
    block_tokens: Count = 64
    """Tokens of one block."""
    turns_mean: Mean = 4
    """Turns of a session, mean of a geometric number."""
    system_prompts: Count = 8
    """Different system prompts."""
    system_zipf_alpha: Alpha = 1.0
    """How unevenly they are used: weight 1 / rank^alpha."""
    system_tokens: Length = 800
    """Tokens of a system prompt."""
    question_median_tokens: Median = 120
    """What a person writes."""
    question_sigma: Sigma = 1.0
    """Its spread."""
    output_median_tokens: Median = 250
    """Answer."""
    output_sigma: Sigma = 0.9
    """Its spread."""
    output_cap_tokens: Count = 4_096
    """Its upper bound."""
    think_median_s: Seconds = 45
    """Time between an answer and the next question."""
    think_sigma: Sigma = 1.2
    """Its spread."""
    service_base_s: Seconds = 0.3
    """Service time: this, plus the answer at one rate, plus the new part of the prompt at another."""
    decode_tokens_per_s: Rate = 60
    """Rate of answers."""
    prefill_tokens_per_s: Rate = 20_000
    """Rate of prompts."""
    span_s: Span = 3_600
    """Sessions begin at random within this span."""


def generate(workload: ChatWorkload, seed: int) -> Trace:
    """The trace of a workload; the same seed gives the same trace."""
    draws = Draws(seed)
    weights = draws.zipf_weights(workload.system_prompts, workload.system_zipf_alpha)
    planner = Planner(block_tokens=workload.block_tokens, scope_per_session=False)
    sessions = 0
    while len(planner) < workload.requests:
        rows = _session(workload, draws, bisect_left(weights, draws.uniform()))
        planner.add_session(rows[: workload.requests - len(planner)])
        sessions += 1
    return planner.trace("synth:chat", draws.sorted_times(sessions, workload.span_s))


def _session(workload: ChatWorkload, draws: Draws, system: int) -> list[Planned]:
    rows: list[Planned] = []
    context = workload.system_tokens
    for turn in range(draws.geometric(workload.turns_mean)):
        think_s = draws.lognormal(workload.think_median_s, workload.think_sigma) if turn else 0.0
        context += max(int(draws.lognormal(workload.question_median_tokens, workload.question_sigma)), 1)
        output = int(draws.lognormal(workload.output_median_tokens, workload.output_sigma))
        rows.append(_request(workload, rows, context, max(min(output, workload.output_cap_tokens), 1), think_s))
        context += rows[-1].output_tokens
    rows[0] = replace(rows[0], openings=((f"system {system}", workload.system_tokens),))
    return rows


def _request(workload: ChatWorkload, rows: list[Planned], context: int, output: int, think_s: float) -> Planned:
    kept = rows[-1].input_tokens if rows else 0
    service = Service(
        base_s=workload.service_base_s,
        decode_tokens_per_s=workload.decode_tokens_per_s,
        prefill_tokens_per_s=workload.prefill_tokens_per_s,
    )
    return Planned(
        arrival_s=rows[-1].end_s + think_s if rows else 0.0,
        input_tokens=context,
        output_tokens=output,
        service_s=service.seconds(new_tokens=context - kept, output_tokens=output),
        think_s=think_s,
        after=len(rows) - 1,
        before=len(rows) - 1,
        kept_tokens=kept,
    )
