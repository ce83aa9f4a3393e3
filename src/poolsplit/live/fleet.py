"""Several replicas together: the tightest pool, and how many sessions stay when each has its own replica."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from poolsplit.engines.live_reading import PoolUse
    from poolsplit.live.expected import Expected, SessionNeed
    from poolsplit.live.sample import LiveSample
    from poolsplit.live.window import WindowView


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlace:
    """One pool of one rank."""

    server: str
    rank: str
    pool: Literal["state", "kv"]
    reclaimable_fraction: float
    """Free or evictable: what a new request can get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRoom:
    """Sessions that one replica keeps beside its running requests."""

    server: str
    sessions: int
    limited_by: Literal["state", "kv"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All replicas at one moment."""

    replicas: int
    running: int | None
    queued: int | None
    """Over all replicas; None when one of them does not say."""
    tightest: PoolPlace | None
    rooms: tuple[SessionRoom, ...] = ()
    """Empty when the need of a session or its constants are unknown."""
    rooms_reason: str | None = None

    @property
    def affine_sessions(self) -> int | None:
        """Sessions kept when each always goes to its own replica, evenly spread: the tightest replica fills first."""
        return self.replicas * min(room.sessions for room in self.rooms) if self.rooms else None

    @property
    def scattered_sessions(self) -> int | None:
        """Sessions kept when any replica may get any turn: each keeps a copy, so the fleet keeps what one does."""
        return min(room.sessions for room in self.rooms) if self.rooms else None


def join_fleet(views: tuple[WindowView, ...], expected: Expected | None) -> Fleet:
    """The fleet's figures from the newest look at every replica."""
    samples = [view.last for view in views]
    places = [place for sample in samples for place in _places(sample)]
    rooms, reason = _rooms(views, expected)
    return Fleet(
        replicas=len(samples),
        running=_sum_of_known([sample.running for sample in samples]),
        queued=_sum_of_known([sample.queued for sample in samples]),
        tightest=min(places, key=lambda place: place.reclaimable_fraction, default=None),
        rooms=rooms,
        rooms_reason=reason,
    )


def _sum_of_known(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _places(sample: LiveSample) -> list[PoolPlace]:
    found = []
    for rank in sample.ranks:
        place = rank.label.removeprefix(rank.replica).strip()
        pools: tuple[tuple[Literal["state", "kv"], PoolUse | None], ...] = (("state", rank.state), ("kv", rank.kv))
        for pool, use in pools:
            if use is not None and use.capacity:
                free = (use.available + use.evictable) / use.capacity
                found.append(PoolPlace(server=sample.name, rank=place, pool=pool, reclaimable_fraction=free))
    return found


def _rooms(views: tuple[WindowView, ...], expected: Expected | None) -> tuple[tuple[SessionRoom, ...], str | None]:
    need = expected.session if expected else None
    if need is None:
        return (), "the plan names no sessions: give `--session-tokens` to it"
    rooms = [_room(view, need, expected) for view in views]
    known = tuple(room for room in rooms if room is not None)
    return (known, None) if len(known) == len(views) else ((), "a replica shows only one of its pools")


def _room(view: WindowView, need: SessionNeed, expected: Expected | None) -> SessionRoom | None:
    """What stays for sessions on all workers of a replica, beside what runs now; of a worker its fullest stage."""
    by_state = by_kv = 0
    dcp = expected.constants.dcp_size if expected and expected.constants else 1
    for stages in view.last.stages_by_worker:
        states, rows = [rank.state for rank in stages if rank.state], [rank.kv for rank in stages if rank.kv]
        if not states or not rows:
            return None
        by_state += int(min(map(_left, states)) // need.checkpoints)
        by_kv += int(min(map(_left, rows)) * dcp // need.tokens)
    limited: Literal["state", "kv"] = "state" if by_state <= by_kv else "kv"
    return SessionRoom(server=view.last.name, sessions=min(by_state, by_kv), limited_by=limited)


def _left(pool: PoolUse) -> int:
    return pool.evictable + pool.available
