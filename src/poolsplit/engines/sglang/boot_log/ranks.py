"""The events of one start to what each rank's lines say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import (
    Available,
    BaselineUse,
    CheckpointPool,
    GraphCapture,
    HostKv,
    HostState,
    ImageReserve,
    KvPool,
    RequestCap,
    RingBuffers,
    StatePool,
    Summary,
    WeightLoad,
    WindowPool,
)
from poolsplit.engines.boot_report import RankReport
from poolsplit.engines.sglang.boot_log.found import all_of, last_of
from poolsplit.engines.sglang.boot_log.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from poolsplit.engines.boot_facts import Batch, Fact, Launch, PrintedSize
    from poolsplit.engines.sglang.boot_log.scan import Event

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


def rank_reports(events: Iterable[Event], launch: Launch | None) -> dict[str, RankReport]:
    """What each rank's lines say, in the order of the ranks."""
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
    moments = all_of(found, Available)
    return RankReport(
        label=label,
        state=last_of(found, StatePool),
        kv=tuple(all_of(found, KvPool)),
        rings=last_of(found, RingBuffers),
        checkpoints=last_of(found, CheckpointPool),
        window=last_of(found, WindowPool),
        load_begin=_first_size(moments, "load_begin"),
        loads=tuple(all_of(found, WeightLoad)),
        pool_ends=tuple(item.available for item in moments if item.moment == "pool_end" and item.available),
        graphs=tuple(all_of(found, GraphCapture)),
        host_kv=last_of(found, HostKv),
        host_state=last_of(found, HostState),
        image_reserve=next((item.size for item in all_of(found, ImageReserve)), None),
        baseline=next((item.used for item in all_of(found, BaselineUse) if item.used), None),
        summary=last_of(found, Summary),
        cap=last_of(found, RequestCap),
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
