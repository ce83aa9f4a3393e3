"""Kept sessions beside the running requests: what they need, whether it fits, and the pin that makes it fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from poolsplit.answers.planner.answer import answer_of
from poolsplit.errors import UsageError
from poolsplit.plan_beside import SessionFigures
from poolsplit.planning.pins import pinned_slots
from poolsplit.units import ceil_div, format_size, parse_count
from poolsplit.workload.host_tier import DevicePools, HostTier
from poolsplit.workload.sessions import KeptSessions, checkpoints_of_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.answers.planner.requests import Prepared, ReuseFacts, SessionRequest
    from poolsplit.engines.resolved_pools import ResolvedPools
    from poolsplit.plan_answer import PlanAnswer
    from poolsplit.planning.choose import Choice
    from poolsplit.planning.outcome import Outcome
    from poolsplit.workload.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needs:
    """What one worker needs for its share of the kept sessions and of the running requests."""

    share: KeptSessions
    slots_per_request: int
    running: int
    """Over all workers."""
    workers: int

    @property
    def slots(self) -> int:
        return self.slots_beside(self.running)

    @property
    def tokens(self) -> int:
        return self.share.tokens_needed()

    @property
    def bound_by(self) -> str:
        return self.share.bound_by(self.slots_per_request, ceil_div(self.running, self.workers))

    def slots_beside(self, running: int) -> int:
        return self.share.slots_needed(self.slots_per_request, ceil_div(running, self.workers))

    def fit(self, outcome: Outcome) -> bool:
        pools = outcome.solution.pools
        return (pools.state_slots or 0) >= self.slots and pools.logical_tokens >= self.tokens


def with_sessions(
    answer: PlanAnswer, prepared: Prepared, traffic: Traffic, choice: Choice, asked: SessionRequest
) -> tuple[PlanAnswer, Outcome]:
    """Kept sessions against the plan; slots are pinned for them where both pools then hold what is asked.

    Raises:
        UsageError: Their number or their length is missing.
    """
    recommended = choice.recommended
    if asked.sessions is None:
        raise UsageError("the number of kept sessions is missing", hint="give --sessions N")
    facts = prepared.reuse(recommended.changes)
    kept, made = _kept(asked, facts)
    workers = recommended.solution.workers
    needs = _Needs(
        share=replace(kept, sessions=ceil_div(kept.sessions, workers)),
        slots_per_request=recommended.solution.pools.slots_per_request or 1,
        running=traffic.concurrency or recommended.total_running,
        workers=workers,
    )
    chosen = recommended
    if facts.strategy != "off" and not needs.fit(recommended):
        pinned = _pin_for_sessions(prepared, traffic, recommended, needs.slots * workers)
        chosen = pinned if pinned is not None and needs.fit(pinned) else recommended
    if chosen is not recommended:
        reason = f"slots for {kept.sessions} kept sessions and {needs.running} running requests"
        answer = answer_of(prepared, traffic, replace(choice, recommended=chosen, pin_reason=reason))
    figures = _figures(needs, chosen, facts, made, traffic.concurrency_median)
    pools = chosen.solution.pools
    notes = (*answer.notes, *_session_notes(figures, facts, pools))
    warnings = (*answer.warnings, *_longer_than_context(kept, pools.context_len))
    return replace(answer, sessions=figures, notes=notes, warnings=warnings), chosen


def _figures(needs: _Needs, chosen: Outcome, facts: ReuseFacts, made: str, median: int | None) -> SessionFigures:
    pools, keeps = chosen.solution.pools, facts.strategy != "off"
    full = checkpoints_of_path(pools.logical_tokens, facts.chunk_tokens, None)
    details: dict[str, Any] = {
        "state_slots_needed_at_median": None if median is None else needs.slots_beside(median),
        "sessions_per_worker": needs.share.sessions,
        "checkpoints_per_session": needs.share.checkpoints,
        "checkpoints_origin": made,
        "bound_by": needs.bound_by,
        "pin_needed": needs.slots * needs.workers,
        "checkpoints_when_kv_is_full": full,
        "reuse_collapses": keeps and full > (pools.state_slots or 0),
        **_host_details(chosen, needs.share, facts),
    }
    slots_share, tokens_share = needs.slots / (pools.state_slots or 1), needs.tokens / max(1, pools.logical_tokens)
    return SessionFigures(
        state_slots_needed=needs.slots,
        kv_tokens_needed=needs.tokens,
        fits=keeps and needs.fit(chosen),
        binding="state" if slots_share >= tokens_share else "kv",
        details=details,
    )


def _kept(asked: SessionRequest, facts: ReuseFacts) -> tuple[KeptSessions, str]:
    if asked.session_tokens is None or asked.sessions is None:
        raise UsageError("the length of a kept session is missing", hint="give --session-tokens N")
    tokens = parse_count(asked.session_tokens)
    if asked.checkpoints_per_session is not None:
        checkpoints, made = asked.checkpoints_per_session, "given"
    else:
        checkpoints = float(checkpoints_of_path(tokens, facts.chunk_tokens, facts.states_per_path))
        limit = facts.states_per_path
        capped = f", at most {limit} a path" if limit is not None else ""
        made = f"one for each prefill chunk of {facts.chunk_tokens} tokens{capped}"
    return (
        KeptSessions(
            sessions=asked.sessions, tokens=tokens, checkpoints=checkpoints, margin_fraction=asked.margin or 0.0
        ),
        made,
    )


def _longer_than_context(kept: KeptSessions, context_len: int) -> tuple[str, ...]:
    if not context_len or kept.tokens <= context_len:
        return ()
    return (f"a kept session of {kept.tokens:,} tokens is longer than the context length of {context_len:,} tokens",)


def _pin_for_sessions(prepared: Prepared, traffic: Traffic, recommended: Outcome, slots: int) -> Outcome | None:
    solution = recommended.solution
    least = pinned_slots(traffic.concurrency or 1, solution.pools.slots_per_request or 1, solution.workers)
    changes = {**recommended.changes, **prepared.deployment.pin_changes(max(slots, least))}
    return prepared.asked(traffic).outcome_or_lacking(changes)


def _host_details(outcome: Outcome, kept: KeptSessions, facts: ReuseFacts) -> dict[str, Any]:
    if facts.host_ratio is None and facts.host_size_gb is None:
        return {}
    pools, state = outcome.solution.pools, outcome.solution.pools.stages[0].state
    device = DevicePools(
        state_slots=pools.state_slots or 0,
        kv_tokens=pools.kv_tokens,
        slot_bytes=pools.state.charged_bytes_per_slot if pools.state else 1,
        row_bytes=pools.stages[0].kv_bytes_per_token,
        state_bytes=state.pool_bytes + state.verify_bytes if state else 0,
    )
    if facts.host_size_gb is not None:
        host = HostTier.by_size(facts.host_size_gb, device, shared=facts.host_size_shared)
    else:
        host = HostTier.by_ratio(facts.host_ratio or 0.0, device)
    needed, tokens = int(kept.sessions * max(1.0, kept.checkpoints)), kept.sessions * kept.tokens
    return {
        "host_states": host.states,
        "host_tokens": host.tokens,
        "host_bytes": host.bytes,
        "host_bytes_per_node": host.bytes * facts.ranks_per_node,
        "host_source": host.source,
        "host_states_needed": needed,
        "host_tokens_needed": tokens,
        "host_resumes_all": host.resumes(needed, ceil_div(tokens, outcome.solution.dcp_size)),
    }


def _session_notes(figures: SessionFigures, facts: ReuseFacts, pools: ResolvedPools) -> list[str]:
    if facts.strategy == "off":
        return ["no session is kept between its turns: this launch has no prefix cache"]
    details = figures.details
    word = "running requests" if details["bound_by"] == "concurrency" else "idle sessions"
    verdict = "they fit" if figures.fits else f"they do not fit, {figures.binding} ends first"
    needs = f"{figures.state_slots_needed:,} slots and {figures.kv_tokens_needed:,} tokens a worker"
    notes = [f"kept sessions need {needs}, mostly for {word}; {verdict}", *_host_notes(details)]
    full = details["checkpoints_when_kv_is_full"]
    if details["reuse_collapses"]:
        notes.append(
            f"a full KV pool at chunks of {facts.chunk_tokens:,} leaves {full:,} checkpoints for "
            f"{pools.state_slots:,} slots: reuse collapses before KV is full; a larger --chunked-prefill-size or "
            "--mamba-max-states-per-path makes fewer"
        )
    return notes


def _host_notes(details: Mapping[str, Any]) -> tuple[str, ...]:
    """What the host tier holds against what the sessions leave."""
    if "host_states" not in details:
        return ()
    verdict = "every session resumes" if details["host_resumes_all"] else "not every session resumes"
    text = (
        f"the host tier holds {details['host_states']:,} states and {details['host_tokens']:,} tokens "
        f"({details['host_source']}; {format_size(details['host_bytes_per_node'])} of a node's memory) where the "
        f"sessions leave {details['host_states_needed']:,} states and {details['host_tokens_needed']:,} tokens: "
        f"{verdict}"
    )
    return (text,)
