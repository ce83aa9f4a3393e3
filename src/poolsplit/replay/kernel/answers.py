"""From the kernel's arrays back to records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.replay.arithmetic import NONE
from poolsplit.replay.kernel.layout import ABORTED, DONE, NOT_RUN, REJECTED, STUCK, UNSENT, World
from poolsplit.replay.workload import Admission, Freed, HostTraffic, Occupancy, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.replay.workload import Outcome, Workload

_OUTCOMES: dict[int, Outcome] = {
    UNSENT: "not_run",
    DONE: "done",
    ABORTED: "done",
    REJECTED: "rejected",
    STUCK: "stuck",
    NOT_RUN: "not_run",
}
_NEVER_RAN = (UNSENT, REJECTED, NOT_RUN)


def read_records(w: World, workload: Workload) -> Iterator[Record]:
    """The decisions about each request, in the order of the workload."""
    admissions = _admissions(w)
    pools = [name for name in Occupancy.__slots__ if w.option[0]["host"] or not name.startswith("host_")]
    for r, (request, done) in enumerate(zip(workload.requests, w.requests, strict=True)):
        yield Record(
            id=request.id,
            prompt_tokens=int(done["prompt"]),
            outcome=_OUTCOMES[int(done["place"])],
            output_tokens=int(done["outputs"]),
            admissions=tuple(admissions.get(r, ())),
            retractions=int(done["retractions"]),
            aborted=int(done["place"]) == ABORTED,
            done_step=int(done["done_step"]),
            **_evicted(done),
            occupancy=None if int(done["place"]) in _NEVER_RAN else _occupancy(done, pools),
        )


def _evicted(done: Any) -> dict[str, int]:
    """What left while a request was there; one that never ended has its start in these fields."""
    names = ("kv_evicted", "states_evicted", "cap_states_evicted")
    return {name: int(done[name]) if int(done["place"]) in {DONE, ABORTED} else 0 for name in names}


def read_traffic(w: World) -> HostTraffic | None:
    """What went between device and host, if there is a host tier."""
    if not w.option[0]["host"]:
        return None
    return HostTraffic(**{name: int(w.now[0][name]) for name in HostTraffic.__slots__})


def _occupancy(done: Any, pools: Sequence[str]) -> Occupancy:
    return Occupancy(**{name: int(done[name]) for name in pools})


def _admissions(w: World) -> dict[int, list[Admission]]:
    written: dict[int, list[Admission]] = {}
    for request, opens, step, branch, start, end in w.chunks[: w.now[0]["chunks"]].tolist():
        entries = written.setdefault(request, [])
        if opens:
            entries.append(Admission(step=step, prefix=start, branch=None if branch == NONE else branch))
        entries[-1].chunks.append((start, end))
    return written


def read_freed(w: World) -> Iterator[Freed]:
    """What left the tree, in order."""
    for is_state, depth, length, last_token in w.freed[: w.now[0]["freed"]].tolist():
        yield Freed(kind="state" if is_state else "kv", depth=depth, length=length, last_token=last_token)
