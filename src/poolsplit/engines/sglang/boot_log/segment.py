"""Where one start of a server ends and the next begins.

A start prints its state pool, its summary and its arguments once for each rank, so a second one for the same rank
opens the next start. Ranks may be interleaved in any way; files may hold one rank each or one stretch of time each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import (
    Available,
    BaselineUse,
    EngineError,
    ImageReserve,
    KvPool,
    KvReduction,
    Launch,
    Mark,
    ReleaseHint,
    RequestCap,
    StatePool,
    Summary,
    WeightLoad,
)
from poolsplit.engines.sglang.boot_log.records import NO_LABEL
from poolsplit.engines.sglang.boot_log.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.engines.sglang.boot_log.scan import Event, FileScan

_PREAMBLE = (Launch, BaselineUse, WeightLoad, ImageReserve, ReleaseHint, RequestCap, KvReduction)
_MEMORY = (StatePool, KvPool, WeightLoad, Available, Summary, RequestCap)


@dataclass(slots=True)
class _Lane:
    """What one rank printed in the current start."""

    loads: int = 0
    kv_pools: int = 0
    state_pools: int = 0
    summary: Summary | None = None
    cap: RequestCap | None = None


@dataclass(slots=True)
class Segment:
    """The events of one start."""

    events: list[Event] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    lanes: dict[str, _Lane] = field(default_factory=dict)
    finished: bool = False
    has_memory: bool = False
    launch: Launch | None = None

    def add(self, event: Event) -> None:
        """Takes one more event."""
        self.events.append(event)
        fact = event.fact
        lane = self.lanes.setdefault(event.label, _Lane())
        if _is_load_begin(event):
            lane.loads += 1
        elif isinstance(fact, KvPool):
            lane.kv_pools += 1
        elif isinstance(fact, StatePool):
            lane.state_pools += 1
        elif isinstance(fact, Summary):
            lane.summary = fact
        elif isinstance(fact, RequestCap):
            lane.cap = fact
        elif isinstance(fact, Launch):
            self.launch = fact
        self.has_memory |= isinstance(fact, _MEMORY)
        self.finished |= _finishes(event)


def join_files(scans: Iterable[FileScan]) -> list[Segment]:
    """The starts of all files, oldest first.

    A file whose ranks were not seen yet tells of the same starts as the files before it; any other file goes on where
    the one before it ended.
    """
    joined: list[Segment] = []
    for scan in scans:
        ranks = rank_labels(scan.events)
        seen: set[str] = set().union(*(rank_labels(segment.events) for segment in joined))
        if ranks and seen and not ranks & seen:
            _zip(joined, _split(scan, []))
        else:
            joined = _split(scan, joined)
    return joined


def rank_labels(events: Iterable[Event]) -> set[str]:
    """Ranks that printed memory figures, by label; lines without one do not count."""
    return {event.label for event in events if isinstance(event.fact, _MEMORY)} - {NO_LABEL}


def _split(scan: FileScan, before: list[Segment]) -> list[Segment]:
    """The starts so far, the last of them continued, and those that this file opens."""
    segments = list(before)
    for event in scan.events:
        if not segments:
            segments.append(Segment())
        elif _restarts(segments[-1], event, same_file=scan.name in segments[-1].files) or (
            scan.name not in segments[-1].files and _changes_labels(segments[-1], event)
        ):
            segments.append(_cut(segments[-1], event))
        segments[-1].add(event)
        if scan.name not in segments[-1].files:
            segments[-1].files.append(scan.name)
    return segments


def _changes_labels(segment: Segment, event: Event) -> bool:
    """Whether pools of ranks follow on pools without a rank, or the reverse: a start prints them all one way."""
    if not isinstance(event.fact, (StatePool, KvPool)) and not _is_load_begin(event):
        return False
    pooled = [label for label, lane in segment.lanes.items() if lane.state_pools or lane.kv_pools]
    return bool(pooled) and all((label == NO_LABEL) != (event.label == NO_LABEL) for label in pooled)


def _restarts(segment: Segment, event: Event, *, same_file: bool) -> bool:  # noqa: PLR0911  one line for each kind of line
    fact = event.fact
    lane = segment.lanes.get(event.label, _Lane())
    if isinstance(fact, Launch):
        return (segment.has_memory or segment.finished) and not _other_node(segment.launch, fact)
    if isinstance(fact, StatePool):
        return lane.state_pools > 0
    if isinstance(fact, Summary):
        return lane.summary is not None
    if isinstance(fact, RequestCap):
        return lane.cap not in (None, fact)
    if _is_load_begin(event):
        most_loads = max((other.loads for other in segment.lanes.values()), default=0)
        other_file = not same_file and lane.kv_pools + lane.state_pools > 0
        return (segment.finished or other_file) and 0 < lane.loads >= most_loads
    if isinstance(fact, Mark) and fact.what == "init":
        return segment.finished and lane.loads > 0 and lane.loads >= max(o.loads for o in segment.lanes.values())
    if isinstance(fact, KvPool):
        return segment.finished and lane.kv_pools > 1
    return False


def _cut(segment: Segment, opening: Event) -> Segment:
    """A new segment that takes over what the old one ends with and what belongs before any pool."""
    fresh = Segment(files=segment.files[-1:])
    at = len(segment.events)
    while at > 0 and _is_preamble(segment.events[at - 1]) and not _of_another_pool(segment.events[at - 1], opening):
        at -= 1
    moved, kept = segment.events[at:], segment.events[:at]
    if kept:
        segment.events, segment.lanes, segment.launch = [], {}, None
        for event in kept:
            segment.add(event)
        for event in moved:
            fresh.add(event)
    return fresh


def _zip(joined: list[Segment], found: list[Segment]) -> None:
    """Joins the starts of other ranks, the last with the last."""
    for offset, segment in enumerate(reversed(found), 1):
        if offset > len(joined):
            joined.insert(0, segment)
        else:
            _merge(joined[-offset], segment)


def _merge(target: Segment, other: Segment) -> None:
    for event in other.events:
        target.add(event)
    target.files.extend(name for name in other.files if name not in target.files)


def _is_load_begin(event: Event) -> bool:
    return isinstance(event.fact, Available) and event.fact.moment == "load_begin"


def _is_preamble(event: Event) -> bool:
    fact = event.fact
    return isinstance(fact, _PREAMBLE) or _is_load_begin(event) or (isinstance(fact, Mark) and fact.what == "init")


def _finishes(event: Event) -> bool:
    fact = event.fact
    if isinstance(fact, EngineError):
        return fact.fatal
    return isinstance(fact, (Summary, Tally)) or (isinstance(fact, Mark) and fact.what in ("ready", "exit"))


def _of_another_pool(event: Event, opening: Event) -> bool:
    """Whether a cap names other slots than the pool that opens the next start."""
    cap, pool = event.fact, opening.fact
    if not isinstance(cap, RequestCap) or not isinstance(pool, StatePool):
        return False
    one_lane = event.label == opening.label or NO_LABEL in {event.label, opening.label}
    return one_lane and None not in {cap.state_slots, pool.state_slots} and cap.state_slots != pool.state_slots


def _other_node(known: Launch | None, new: Launch) -> bool:
    """Whether this is the same start seen from another node."""
    if known is None:
        return False
    ranks = known.values.get("node_rank"), new.values.get("node_rank")
    return None not in ranks and ranks[0] != ranks[1]
