"""Figures of the real cache that anyone can check by hand (docs/replay.md)."""

import pytest

from poolsplit.errors import InfeasiblePlanError, InputError
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.workload import Workload
from replay_cases import one_by_one, request, server


def reused(config, *requests):
    return [record.admissions[0].prefix for record in replay(config, one_by_one(*requests)).records]


@pytest.mark.parametrize(
    ("strategy", "states_evicted"),
    [
        ("extra_buffer", [2, 1, 1, 1, 1]),
        ("extra_buffer_lazy", [1, 1, 1, 1, 1]),
        ("no_buffer", [0, 1, 1, 0, 0]),
    ],
)
def test_three_long_prompts_and_a_fork(strategy, states_evicted):
    config = server(kv_tokens=3_300_000, state_slots=48, max_running_requests=4, chunk_tokens=2048, strategy=strategy)
    first, second, third = (((i * 10**6 + 1, 32_768),) for i in range(3))
    fork = ((1, 8192), (5 * 10**6, 2048))
    prompts = (first, second, third, fork, first, second, third)
    records = replay(config, one_by_one(*(request(i, *prompt) for i, prompt in enumerate(prompts)))).records
    assert [record.admissions[0].prefix for record in records] == [0, 0, 0, 8192, 30_720, 30_720, 30_720]
    assert [record.states_evicted for record in records][2:] == states_evicted


def test_an_insert_ends_at_the_last_tracked_state():
    record = replay(server(), one_by_one(request("a", (1, 300), output=40))).records[0]
    assert record.occupancy.kv_evictable == 256


@pytest.mark.parametrize(
    ("strategy", "length", "expected"),
    [
        ("extra_buffer", 320, [0, 0, 256, 256]),
        ("extra_buffer", 300, [0, 256, 256, 256]),
        ("no_buffer", 300, [0, 0, 0, 0]),
    ],
)
def test_an_identical_prompt_never_reuses_its_whole_length(strategy, length, expected):
    assert reused(server(strategy=strategy), *(request(i, (1, length)) for i in range(4))) == expected


def test_only_the_second_request_of_a_branch_leaves_its_own_tail():
    prompts = [((1, 640),), ((1, 300), (5000, 340)), ((1, 300), (9000, 340))]
    records = replay(server(), one_by_one(*(request(i, *p) for i, p in enumerate(prompts)))).records
    assert [record.admissions[0].prefix for record in records] == [0, 0, 256]
    assert [record.admissions[0].branch for record in records] == [None, 256, None]
    assert records[1].occupancy.kv_evictable == 640
    assert records[2].occupancy.kv_evictable == 640 + 340


def test_a_prompt_that_fills_the_pool_blocks_the_queue():
    config = server(page_tokens=64, kv_tokens=256, state_slots=20)
    served, blocked = request("a", (1, 191)), request("b", (1, 192))
    assert [r.outcome for r in replay(config, one_by_one(served)).records] == ["done"]
    assert [r.outcome for r in replay(config, one_by_one(blocked, served)).records] == ["stuck", "not_run"]


def test_an_input_near_the_whole_pool_is_rejected():
    record = replay(server(kv_tokens=256), one_by_one(request("a", (1, 250)))).records[0]
    assert record.outcome == "rejected"
    assert record.occupancy is None


def test_running_out_of_slots_stops_the_replay_as_it_stops_the_engine():
    config = server(kv_tokens=1024, state_slots=4, max_running_requests=1, chunk_tokens=192, skip_decode_lock=True)
    same = [request(i, (1, 400 + 100 * i), output=2) for i in range(4)]
    with pytest.raises(InfeasiblePlanError, match="ran out of slots"):
        replay(config, one_by_one(*same))


def test_a_closed_loop_needs_a_width():
    with pytest.raises(InputError, match="outstanding"):
        Workload(requests=(request("a", (1, 10)),), mode="closed")
