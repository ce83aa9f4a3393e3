"""Synthetic coding agents: sessions whose context grows to hundreds of thousands of tokens, with subagents.

The defaults are fitted to a published agentic benchmark of 98,827 requests: mean input 218,922, 69.1 % of requests with
prompt and answer within 256k (published); p90 of 549k and 97.9 % reuse (targets). Shares of main turns and subagents,
outputs and breaks follow; what no source states is marked [A].

Source: published totals of the benchmark; break rate measured on 555 recorded coding sessions (1.9 % of turns). Held by
tests/golden/test_traces_synthetic.py for three seeds.

Known error: lengths are fitted, contents are not: sessions share nothing unless `shared_prefix` is set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from poolsplit.traces.draws import Draws, geometric_quantile, lognormal_quantile, poisson_quantile
from poolsplit.traces.parameters import Cap, Count, Fraction, Length, Mean, Median, Rate, Seconds, Sigma, Span  # noqa: TC001  read at run time
from poolsplit.traces.synthetic_rows import Planned, Planner, Service, in_time_order

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace

_LEAST_GROWTH = 1.15
"""A session ends no sooner than at this many times its first prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWorkload:
    """Parameters of the agent generator; `*_sigma` are those of lognormal distributions."""

    requests: Count = 98_827
    """Requests in all; the last session is cut short to hit it."""
    block_tokens: Count = 64
    """Tokens of one block."""
    first_input_median_tokens: Median = 26_000
    """First prompt of a session, tools and system prompt included."""
    first_input_sigma: Sigma = 0.45
    """Its spread."""
    first_input_cap_tokens: Length = 120_000
    """Its upper bound."""
    system_tokens: Length = 12_000
    """Tools and system prompt: what a prefix break never loses, and what `shared_prefix` shares."""
    final_context_low_tokens: Length = 10_000
    """Shortest context at which sessions end; they end evenly between this and the next."""
    final_context_high_tokens: Length = 930_000
    """Longest context at which sessions end."""
    growth_median_tokens: Median = 3_500
    """Mean growth of a session's context a turn, median over sessions."""
    growth_sigma: Sigma = 0.5
    """Spread of that mean over sessions."""
    growth_floor_tokens: Length = 400
    """Its lower bound."""
    turn_sigma: Sigma = 1.3
    """Spread of the growth of one turn around its session's mean."""
    turn_floor_tokens: Length = 64
    """Least growth of a turn."""
    break_fraction: Fraction = 0.016
    """Share of main turns that keep only a part of the prompt before: the knob for reuse."""
    subagents_per_session: Annotated[float, Meta(ge=0, le=500)] = 5.3
    """Mean of a Poisson number."""
    subagent_system_tokens: Length = 12_000
    """Beginning that subagents of a session share."""
    subagent_input_median_tokens: Median = 2_500
    """First task of a subagent, behind that beginning."""
    subagent_input_sigma: Sigma = 0.7
    """Its spread."""
    subagent_more_requests: Mean = 20
    """Requests of a subagent after its first, mean of a geometric number."""
    subagent_growth_mean_tokens: Median = 3_500
    """Mean growth of a subagent's context a request."""
    subagent_growth_sigma: Sigma = 1.1
    """Its spread."""
    subagent_gate_fraction: Fraction = 0.7
    """Share of subagents that the session's next turn waits for [A]."""
    subagents_at_once: Count = 5
    """Subagents of one session that run at the same time; further ones wait."""
    output_median_tokens: Median = 330
    """Answer [A on the shape]."""
    output_sigma: Sigma = 1.54
    """Its spread."""
    output_cap_tokens: Count = 32_000
    """Its upper bound."""
    think_median_s: Seconds = 10
    """Time between an answer and the next request."""
    think_sigma: Sigma = 1.9
    """Its spread."""
    think_cap_s: Cap = 10
    """Its upper bound; `inf` for none."""
    service_base_s: Seconds = 1.5
    """Service time [A]: this, plus the answer at one rate, plus the new part of the prompt at another."""
    decode_tokens_per_s: Rate = 60
    """Rate of answers [A]."""
    prefill_tokens_per_s: Rate = 20_000
    """Rate of prompts [A]."""
    context_cut_tokens: Count | None = None
    """Leave out requests whose prompt and answer exceed this, as a 256k model must; unset keeps all."""
    shared_prefix: bool = False
    """All sessions share tools and system prompt, as deployments do; else each has its own."""
    span_s: Span | None = None
    """Sessions begin at random within this span, on one clock; unset gives each session its own clock."""


def generate(workload: AgentWorkload, seed: int) -> Trace:
    """The trace of a workload; the same seed gives the same trace."""
    generator = _Generator(workload, Draws(seed))
    planner = Planner(block_tokens=workload.block_tokens, scope_per_session=not workload.shared_prefix)
    number = 0
    while len(planner) < workload.requests:
        rows = generator.session(number)
        planner.add_session(rows[: workload.requests - len(planner)])
        number += 1
    starts = generator.draws.sorted_times(number, workload.span_s) if workload.span_s is not None else None
    return planner.trace("synth:agent", starts, context_cut_tokens=workload.context_cut_tokens)


class _Generator:
    def __init__(self, workload: AgentWorkload, draws: Draws) -> None:
        self.draws = draws
        self._load = workload
        self._subagents = 0
        self._service = Service(
            base_s=workload.service_base_s,
            decode_tokens_per_s=workload.decode_tokens_per_s,
            prefill_tokens_per_s=workload.prefill_tokens_per_s,
        )

    def session(self, number: int) -> list[Planned]:
        """Requests of one session in order of time, the first at 0."""
        load = self._load
        at_length, at_growth, at_subagents = self.draws.even_triple(number)
        contexts = self._contexts(at_length, at_growth)
        count = poisson_quantile(at_subagents, load.subagents_per_session)
        spawned = [self.draws.below(len(contexts)) for _ in range(count)]
        rows: list[Planned] = []
        ends: list[float] = []
        ready_s, after, main = 0.0, -1, -1
        for turn, context in enumerate(contexts):
            think_s = self._think() if turn else 0.0
            kept = self._kept(contexts[turn - 1]) if turn else 0
            request = self._request(ready_s + think_s, context, kept)
            openings = (("session", load.system_tokens),) if turn == 0 else ()
            rows.append(replace(request, think_s=think_s, after=after, before=main, openings=openings))
            main = after = len(rows) - 1
            ready_s = rows[main].end_s
            for _ in range(spawned.count(turn)):
                start_s = self._free_place(ends, rows[main].end_s)
                self._subagent(rows, start_s, main, agent=len(ends) + 1)
                ends.append(rows[-1].end_s)
                if self.draws.uniform() < load.subagent_gate_fraction and ends[-1] > ready_s:
                    ready_s, after = ends[-1], len(rows) - 1
        return in_time_order(rows)

    def _request(self, arrival_s: float, context: int, kept: int) -> Planned:
        load = self._load
        output = self.draws.lognormal(load.output_median_tokens, load.output_sigma)
        output_tokens = max(min(int(output), load.output_cap_tokens), 1)
        return Planned(
            arrival_s=arrival_s,
            input_tokens=context,
            output_tokens=output_tokens,
            service_s=self._service.seconds(new_tokens=context - kept, output_tokens=output_tokens),
            kept_tokens=kept,
        )

    def _contexts(self, at_length: float, at_growth: float) -> list[int]:
        """Prompt lengths of the main turns."""
        load = self._load
        first = self.draws.lognormal(load.first_input_median_tokens, load.first_input_sigma)
        first = min(first, load.first_input_cap_tokens)
        span = load.final_context_high_tokens - load.final_context_low_tokens
        final = max(load.final_context_low_tokens + span * at_length, _LEAST_GROWTH * first)
        growth = lognormal_quantile(at_growth, load.growth_median_tokens, load.growth_sigma)
        growth = max(growth, load.growth_floor_tokens)
        context, contexts = first, []
        while context <= final:
            contexts.append(int(context))
            context += max(self.draws.lognormal_mean(growth, load.turn_sigma), load.turn_floor_tokens, 1)
        return contexts

    def _kept(self, before: int) -> int:
        if self.draws.uniform() >= self._load.break_fraction:
            return before
        base = min(self._load.system_tokens, before)
        return base + int(self.draws.uniform() * (before - base))

    def _think(self) -> float:
        return min(self.draws.lognormal(self._load.think_median_s, self._load.think_sigma), self._load.think_cap_s)

    def _free_place(self, ends: list[float], start_s: float) -> float:
        """When the next subagent may begin: as soon as fewer than the limit are running."""
        while len(running := [end for end in ends if end > start_s]) >= self._load.subagents_at_once:
            start_s = min(running)
        return start_s

    def _subagent(self, rows: list[Planned], start_s: float, main: int, *, agent: int) -> None:
        """Adds the requests of one subagent."""
        load = self._load
        self._subagents += 1
        context = load.subagent_system_tokens + self.draws.lognormal(
            load.subagent_input_median_tokens, load.subagent_input_sigma
        )
        more = geometric_quantile(self.draws.even(self._subagents), load.subagent_more_requests)
        opening = replace(
            self._request(start_s, int(context), 0),
            think_s=start_s - rows[main].end_s,
            agent=agent,
            after=main,
            openings=(("subagent", load.subagent_system_tokens),),
        )
        rows.append(opening)
        for _ in range(more):
            kept, before = int(context), len(rows) - 1
            context += max(self.draws.lognormal_mean(load.subagent_growth_mean_tokens, load.subagent_growth_sigma), 1)
            think_s = self._think()
            request = self._request(rows[before].end_s + think_s, int(context), kept)
            rows.append(replace(request, think_s=think_s, agent=agent, after=before, before=before))
