"""Kept sessions and host tiers: published arithmetic."""

import pytest

from poolsplit.errors import InputError
from poolsplit.workload.host_tier import DevicePools, HostTier
from poolsplit.workload.sessions import KeptSessions, checkpoints_of_path


def kept(sessions, checkpoints=1.0, margin=0.0):
    return KeptSessions(sessions=sessions, tokens=8448, checkpoints=checkpoints, margin_fraction=margin)


@pytest.mark.parametrize(("sessions", "running", "slots"), [(48, 48, 240), (48, 27, 156), (200, 48, 392)])
def test_slots_for_sessions_and_running_requests(sessions, running, slots):
    assert kept(sessions).slots_needed(5, running) == slots


def test_idle_sessions_with_many_checkpoints_need_most_when_nothing_runs():
    assert kept(100, checkpoints=8).slots_needed(5, 20) == 800
    assert kept(100, checkpoints=8).bound_by(5, 20) == "residency"
    assert kept(48).bound_by(5, 48) == "concurrency"


def test_one_long_idle_session_binds_by_residency_whatever_runs():
    assert kept(1, checkpoints=720).slots_needed(5, 80) == 720
    assert kept(1, checkpoints=720).bound_by(5, 80) == "residency"


def test_the_margin_is_on_top():
    assert kept(200, margin=0.25).slots_needed(5, 48) == 490
    assert kept(200, margin=0.25).tokens_needed() == 2_112_000


@pytest.mark.parametrize("huge", [{"margin": 1e308}, {"margin": float("nan")}, {"checkpoints": 1e308}])
def test_figures_beyond_any_session_are_refused(huge):
    with pytest.raises(InputError, match="from 0 to 1,000,000"):
        kept(10, **huge)
    with pytest.raises(InputError, match=r"from 1 to 2\^60"):
        kept(10**400)


def test_it_is_the_maximum_over_every_number_of_running_requests():
    for checkpoints in (0.5, 1, 4, 5, 6):
        sessions = kept(60, checkpoints=checkpoints)
        by_hand = max(5 * n + checkpoints * (60 - n) for n in range(49))
        assert sessions.slots_needed(5, 48) >= by_hand > sessions.slots_needed(5, 48) - 1


@pytest.mark.parametrize(("chunk", "made"), [(8192, 720), (16384, 360)])
def test_checkpoints_of_a_full_pool(chunk, made):
    assert checkpoints_of_path(5_890_560, chunk, None) == made
    assert (made > 429) is (chunk == 8192)


def test_the_soft_limit_of_a_path():
    assert checkpoints_of_path(100_000, 8192, 2) == 2
    assert checkpoints_of_path(100, 8192, None) == 1


POOLS = DevicePools(
    state_slots=429, kv_tokens=5_890_560, slot_bytes=73_809_920, row_bytes=5995, state_bytes=31_738_265_600
)


@pytest.mark.parametrize(("states", "resumes"), [(565, False), (734, True)])
def test_host_states_against_resumable_prompts(states, resumes):
    checkpoints = checkpoints_of_path(8448, 4096, None)
    assert 200 * checkpoints == 600
    host = HostTier(states=states, tokens=1_000_000, bytes=0, source="published")
    assert host.resumes(200 * checkpoints, 1_000_000) is resumes
    assert not host.resumes(200 * checkpoints, 1_000_001)


def test_one_ratio_for_both_pools():
    host = HostTier.by_ratio(2.0, POOLS)
    assert (host.states, host.tokens) == (858, 11_781_120)


def test_a_size_is_shared_by_device_bytes_or_given_twice():
    shared, twice = HostTier.by_size(32, POOLS, shared=True), HostTier.by_size(32, POOLS, shared=False)
    assert shared.bytes <= 32e9 < twice.bytes
    assert shared.states / POOLS.state_slots == pytest.approx(shared.tokens / POOLS.kv_tokens, rel=0.01)


def test_nonsense_is_refused():
    with pytest.raises(InputError):
        kept(0)
