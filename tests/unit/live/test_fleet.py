"""Several replicas: the tightest pool, and sessions under affine routing."""

import pytest

from live_looks import Looks
from live_server import Engine
from poolsplit.engines.live_reading import PoolUse, RankReading
from poolsplit.live.constants import PoolConstants
from poolsplit.live.document import fleet_document
from poolsplit.live.expected import Expected, SessionNeed
from poolsplit.live.fleet import join_fleet
from poolsplit.live.sample import LiveSample, Traffic
from poolsplit.live.window import WindowView

CONSTANTS = PoolConstants(state_bytes_per_slot=10, kv_bytes_per_token=2, slots_per_request=5, origin="plan")


def fleet(*engines, need=SessionNeed(tokens=20_000), constants=CONSTANTS):  # noqa: B008 - frozen
    expected = Expected(origin="plan", constants=constants, session=need)
    return Looks(expect=lambda _facts: expected)(*engines).fleet


def test_one_replica_is_no_fleet():
    assert fleet(Engine()) is None


def test_the_tightest_pool_of_all():
    found = fleet(Engine(), Engine(kv=(990_000, 5_000, 5_000)), Engine(state=(50, 25, 25)))
    assert (found.replicas, found.running, found.queued) == (3, 60, 12)
    assert (found.tightest.server, found.tightest.pool) == ("http://b", "kv")
    assert found.tightest.reclaimable_fraction == 0.01


def test_a_replica_that_does_not_say_leaves_the_sum_unknown():
    page = Engine().page(hidden=frozenset({"num_running_reqs"}))
    found = Looks()(Engine(), Engine(), metrics=page).fleet
    assert (found.running, found.queued) == (None, 8)


def test_sessions_with_affine_routing_add_up_and_without_do_not():
    roomy = Engine(state=(40, 30, 30), kv=(0, 500_000, 500_000))
    found = fleet(roomy, Engine(state=(60, 20, 20), kv=(0, 500_000, 500_000)))
    assert [(room.sessions, room.limited_by) for room in found.rooms] == [(50, "kv"), (40, "state")]
    assert (found.affine_sessions, found.scattered_sessions) == (80, 40)


def test_more_checkpoints_a_session_leave_fewer_sessions():
    engine = Engine(state=(40, 30, 30), kv=(0, 500_000, 500_000))
    found = fleet(engine, engine, need=SessionNeed(tokens=20_000, checkpoints=2.5))
    assert found.affine_sessions == 2 * 24


def test_the_fullest_stage_of_a_worker_counts():
    ranks = [
        RankReading(replica="w", dp_rank=0, pp_rank=stage, model="", role="", state=pool, kv=rows)
        for stage, pool, rows in (
            (0, PoolUse(used=0, evictable=0, available=100), PoolUse(used=0, evictable=0, available=100_000)),
            (1, PoolUse(used=70, evictable=10, available=20), PoolUse(used=0, evictable=0, available=900_000)),
        )
    ]
    empty = LiveSample(
        server="s", replica="w", time_s=0.0, ranks=tuple(ranks), span="interval", elapsed_s=1.0, traffic=Traffic()
    )
    view = WindowView(samples=(empty,), traffic=Traffic(), binding=None)
    found = join_fleet((view, view), Expected(origin="plan", constants=CONSTANTS, session=SessionNeed(tokens=2_000)))
    assert [(room.sessions, room.limited_by) for room in found.rooms] == [(30, "state")] * 2
    assert (found.tightest.server, found.tightest.rank) == ("s w", "DP0 PP1")


def test_workers_of_a_replica_add_up():
    engine = Engine(dp_ranks=(0, 1), dp_labels=True, state=(40, 30, 30), kv=(0, 500_000, 500_000))
    assert [room.sessions for room in fleet(engine, engine).rooms] == [100, 100]


@pytest.mark.parametrize("need", [None, SessionNeed(tokens=20_000)])
def test_what_is_not_known_has_a_reason(need):
    engines = (Engine(), Engine(state=(0, 0, 0)) if need else Engine())
    found = fleet(*engines, need=need)
    document = fleet_document(found)
    assert document["affine_sessions"] is None
    assert document["sessions_per_replica"] == []
    assert document["sessions_per_replica_reason"]


def test_replicas_behind_one_gateway_are_a_fleet():
    first = Engine(extra_labels={"worker_addr": "http://w0"}, running=3)
    second = Engine(extra_labels={"worker_addr": "http://w1"}, running=4)
    tick = Looks()(first, metrics=first.page("sglang_") + second.page("sglang_"))
    assert [judged.sample.name for judged in tick.judged] == ["http://a http://w0", "http://a http://w1"]
    assert tick.fleet.running == 7
