"""The events of one start to its report."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from poolsplit.engines.boot_facts import (
    Available,
    BaselineUse,
    CheckpointPool,
    ElasticPool,
    EngineError,
    ForeignLine,
    GraphCapture,
    HostKv,
    HostState,
    ImageReserve,
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
    WindowPool,
)
from poolsplit.engines.boot_report import BootReport, ForeignReport, RankReport
from poolsplit.engines.sglang.boot_log.release_forms import version_text
from poolsplit.engines.sglang.boot_log.requests import SLOTS_PER_REQUEST, tightest_cap, work_out
from poolsplit.engines.sglang.boot_log.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poolsplit.engines.boot_facts import Batch, Fact, PrintedSize
    from poolsplit.engines.sglang.boot_log.scan import Event
    from poolsplit.engines.sglang.boot_log.segment import Segment

_RANK_FACTS = (
    StatePool,
    KvPool,
    RingBuffers,
    CheckpointPool,
    WindowPool,
    Available,
    WeightLoad,
    GraphCapture,
    HostKv,
    HostState,
    ImageReserve,
    BaselineUse,
    Summary,
    RequestCap,
)
_F = TypeVar("_F")


def assemble(segment: Segment, extra_launch: Launch | None = None) -> BootReport:
    """Builds the report of one start.

    Args:
        segment: Its events.
        extra_launch: Flags that the user names beside the log; the log's own come first.
    """
    found = [event.fact for event in segment.events]
    launch = _launch(found, extra_launch)
    ranks = _ranks(segment.events, launch)
    cap = tightest_cap(ranks.values())
    reduction = _last(found, KvReduction)
    requests = work_out(ranks, cap, reduction, launch)
    hints = tuple(dict.fromkeys(_all(found, ReleaseHint)))
    elastic, unified = _merged(ElasticPool, found), _merged(UnifiedPool, found)
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
        model_class=next((load.model_class for load in _all(found, WeightLoad) if load.model_class), None),
        launch=launch,
        launch_command=next((item.command for item in _all(found, Launch) if item.command), ()),
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
    launches = [*_all(found, Launch), *([extra] if extra else [])]
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


def _ranks(events: Iterable[Event], launch: Launch | None) -> dict[str, RankReport]:
    lanes: dict[str, list[Fact]] = {}
    batches: dict[str, list[Batch]] = {}
    for event in events:
        if isinstance(event.fact, Tally):
            for label, batch in event.fact.kept:
                batches.setdefault(label, []).append(batch)
        elif isinstance(event.fact, _RANK_FACTS):
            lanes.setdefault(event.label, []).append(event.fact)
    page = launch.values.get("page_size") if launch and launch.form == "arguments" else None
    labels = sorted({*lanes, *batches}, key=natural_order)
    return {
        label: _rank(
            label, lanes.get(label, []), tuple(batches.get(label, ())), page if isinstance(page, int) else None
        )
        for label in labels
    }


def _rank(label: str, found: Sequence[Fact], batches: tuple[Batch, ...], page: int | None) -> RankReport:
    moments = list(_all(found, Available))
    return RankReport(
        label=label,
        state=_last(found, StatePool),
        kv=tuple(_all(found, KvPool)),
        rings=_last(found, RingBuffers),
        checkpoints=_last(found, CheckpointPool),
        window=_last(found, WindowPool),
        load_begin=_first_size(moments, "load_begin"),
        loads=tuple(_all(found, WeightLoad)),
        pool_ends=tuple(item.available for item in moments if item.moment == "pool_end" and item.available),
        graphs=tuple(_all(found, GraphCapture)),
        host_kv=_last(found, HostKv),
        host_state=_last(found, HostState),
        image_reserve=next((item.size for item in _all(found, ImageReserve)), None),
        baseline=next((item.used for item in _all(found, BaselineUse) if item.used), None),
        summary=_last(found, Summary),
        cap=_last(found, RequestCap),
        batches=batches,
        page_tokens=page if page and page > 0 else None,
    )


def natural_order(label: str) -> tuple[tuple[int, str], ...]:
    """Sorts `TP2` before `TP10`, and lines without a rank last."""
    if label == "-":
        return ((1 << 30, ""),)
    return tuple((int(number or 0), word) for word, number in re.findall(r"(\D+)(\d*)", label))


def _first_size(moments: Sequence[Available], moment: str) -> PrintedSize | None:
    return next((item.available for item in moments if item.moment == moment and item.available), None)


def _all(found: Iterable[Fact | Tally], kind: type[_F]) -> Iterable[_F]:
    return [fact for fact in found if isinstance(fact, kind)]


def _last(found: Iterable[Fact | Tally], kind: type[_F]) -> _F | None:
    return next(iter(reversed(list(_all(found, kind)))), None)


def _merged(kind: type[_F], found: Iterable[Fact | Tally]) -> _F | None:
    """Several lines of one block put together; later lines only fill gaps."""
    items = list(_all(found, kind))
    if not items:
        return None
    values: dict[str, object] = {}
    for item in items:
        for name in type(item).__dataclass_fields__:  # type: ignore[attr-defined]
            value = getattr(item, name)
            if values.get(name) is None:
                values[name] = value
    return kind(**values)


def _foreign(found: Iterable[Fact | Tally]) -> ForeignReport | None:
    lines = list(_all(found, ForeignLine))
    if not lines or any(isinstance(fact, (StatePool, RequestCap, Summary)) for fact in found):
        return None
    figures: dict[str, int | float | str] = {}
    for line in lines:
        figures.update(line.figures)
    return ForeignReport(engine=lines[0].engine, figures=figures)


def _tally(found: Iterable[Fact | Tally]) -> Tally | None:
    tallies = list(_all(found, Tally))
    for other in tallies[1:]:
        tallies[0].merge(other)
    return tallies[0] if tallies else None


def _hybrid(found: Sequence[Fact | Tally], tally: Tally | None) -> bool | None:
    """Whether there is a state pool; None when no line could show it."""
    state = (StatePool, RequestCap, RingBuffers, CheckpointPool, HostState, ElasticPool)
    if any(isinstance(fact, state) for fact in found) or (tally and tally.sees_state):
        return True
    refused = {"not_enough_state_memory", "too_small_for_one_request", "ping_pong_slots_exhausted"}
    for error in _all(found, EngineError):
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
    return any(not isinstance(fact, ForeignLine) for fact in found)
