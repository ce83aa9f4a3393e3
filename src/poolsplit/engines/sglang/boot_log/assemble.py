"""The events of one start to its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import (
    CheckpointPool,
    ElasticPool,
    EngineError,
    ForeignLine,
    HostState,
    KvPool,
    KvReduction,
    Launch,
    Mark,
    ReleaseHint,
    RequestCap,
    RingBuffers,
    StatePool,
    Summary,
    UnifiedPool,
    WeightLoad,
)
from poolsplit.engines.boot_report import BootReport, ForeignReport, RankReport
from poolsplit.engines.sglang.boot_log.found import all_of, last_of, merged
from poolsplit.engines.sglang.boot_log.ranks import rank_reports
from poolsplit.engines.sglang.boot_log.release_forms import version_text
from poolsplit.engines.sglang.boot_log.requests import SLOTS_PER_REQUEST, tightest_cap, work_out
from poolsplit.engines.sglang.boot_log.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.scan import Event
    from poolsplit.engines.sglang.boot_log.segment import Segment


def assemble(segment: Segment, extra_launch: Launch | None = None) -> BootReport:
    """Builds the report of one start.

    Args:
        segment: Its events.
        extra_launch: Flags that the user names beside the log; the log's own come first.
    """
    found = [event.fact for event in segment.events]
    launch = _launch(found, extra_launch)
    ranks = rank_reports(segment.events, launch)
    cap = tightest_cap(ranks.values())
    reduction = last_of(found, KvReduction)
    requests = work_out(ranks, cap, reduction, launch)
    hints = tuple(dict.fromkeys(all_of(found, ReleaseHint)))
    elastic, unified = merged(ElasticPool, found), merged(UnifiedPool, found)
    foreign = _foreign(found)
    errors = tuple(_errors(segment.events))
    tally = _tally(found)
    hybrid = _hybrid(found, tally)
    kind = _kind(ranks, (elastic, unified, foreign), errors, hybrid=hybrid)
    return BootReport(
        kind=kind,
        engine=foreign.engine if foreign else ("sglang" if _is_ours(found) else None),
        version=version_text(hints),
        version_hints=hints,
        hybrid=hybrid,
        model=_model(launch),
        model_class=next((load.model_class for load in all_of(found, WeightLoad) if load.model_class), None),
        launch=launch,
        launch_command=next((item.command for item in all_of(found, Launch) if item.command), ()),
        ranks=ranks,
        cap=cap,
        kv_reduction=reduction,
        unified=unified,
        elastic=elastic,
        foreign=foreign,
        requested_running_requests=requests.requested,
        granted_running_requests=requests.granted,
        binding=requests.binding or (tally.report_binding() if tally else None),
        binding_reason=requests.binding_reason or ("periodic lines" if tally and tally.report_binding() else None),
        slots_per_request=requests.slots_per_request,
        slots_per_request_reason=requests.slots_reason,
        possible_slots_per_request=SLOTS_PER_REQUEST,
        errors=errors,
        ready=any(isinstance(fact, Mark) and fact.what == "ready" for fact in found),
        runtime=tally.report() if tally else None,
        files=tuple(segment.files),
    )


def _launch(found: Sequence[Fact | Tally], extra: Launch | None) -> Launch | None:
    """Arguments as the log dumps them, else its launch line, else what the user adds; later ones only fill gaps."""
    launches = [*all_of(found, Launch), *([extra] if extra else [])]
    if not launches:
        return None
    launches.sort(key=lambda launch: launch.form != "arguments")
    values: dict[str, object] = {}
    for launch in launches:
        for name, value in launch.values.items():
            values.setdefault(name, value)
    command = next((launch.command for launch in launches if launch.command), ())
    return Launch(form=launches[0].form, values=values, command=command)


def _errors(events: Sequence[Event]) -> Iterable[EngineError]:
    """What went wrong; an end that a failed process asked for is one only where no other line says why."""
    errors = [event.fact for event in events if isinstance(event.fact, EngineError)]
    yield from errors
    ends = [event.text for event in events if isinstance(event.fact, Mark) and event.fact.what == "exit"]
    if ends and not any(error.fatal for error in errors):
        yield EngineError(id="ended_without_reason", figures={}, text=ends[0], fatal=True)


def _foreign(found: Iterable[Fact | Tally]) -> ForeignReport | None:
    lines = all_of(found, ForeignLine)
    if not lines or any(isinstance(fact, (StatePool, RequestCap, Summary)) for fact in found):
        return None
    figures: dict[str, int | float | str] = {}
    for line in lines:
        figures.update(line.figures)
    return ForeignReport(engine=lines[0].engine, figures=figures)


def _tally(found: Iterable[Fact | Tally]) -> Tally | None:
    tallies = all_of(found, Tally)
    for other in tallies[1:]:
        tallies[0].merge(other)
    return tallies[0] if tallies else None


def _hybrid(found: Sequence[Fact | Tally], tally: Tally | None) -> bool | None:
    """Whether there is a state pool; None when no line could show it."""
    state = (StatePool, RequestCap, RingBuffers, CheckpointPool, HostState, ElasticPool)
    if any(isinstance(fact, state) for fact in found) or (tally and tally.sees_state):
        return True
    refused = {"not_enough_state_memory", "too_small_for_one_request", "ping_pong_slots_exhausted"}
    for error in all_of(found, EngineError):
        if error.id in refused or "state_total" in error.figures:
            return True
    if any(isinstance(fact, (KvPool, Summary)) for fact in found) or (tally and tally.samples):
        return False
    return None


def _kind(
    ranks: dict[str, RankReport],
    others: tuple[ElasticPool | None, UnifiedPool | None, ForeignReport | None],
    errors: Sequence[EngineError],
    *,
    hybrid: bool | None,
) -> str:
    elastic, unified, foreign = others
    if foreign is not None:
        return "other_engine"
    if elastic is not None:
        return "elastic"
    started = unified is not None or any(
        rank.state or rank.kv or rank.cap or rank.summary or rank.loads or rank.pool_ends for rank in ranks.values()
    )
    refused = any(error.id in _START_ERRORS for error in errors)
    if not started and not refused:
        return "not_a_boot"
    if hybrid or unified is not None:
        return "hybrid"
    return "not_hybrid" if hybrid is False else "not_a_boot"


_START_ERRORS = {
    "not_enough_state_memory",
    "too_small_for_one_request",
    "weights_leave_no_memory",
    "no_kv_tokens",
    "device_out_of_memory",
}


def _model(launch: Launch | None) -> str | None:
    value = launch.values.get("model_path") if launch else None
    return value if isinstance(value, str) and value else None


def _is_ours(found: Iterable[Fact | Tally]) -> bool:
    """Whether a server of ours wrote one of the lines; launch lines and versions stand in pages about it, too."""
    return any(
        not isinstance(fact, (ForeignLine, ReleaseHint)) and not (isinstance(fact, Launch) and fact.form == "command")
        for fact in found
    )
