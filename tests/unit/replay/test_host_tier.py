"""What a host tier keeps: published figures, its write policies, and what cannot be replayed."""

import pytest

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InputError
from poolsplit.replay.host_pools import HostPools
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from replay_cases import one_by_one, request, server

PROMPT_TOKENS, PROMPTS, AGAIN = 8448, 200, 8


def filled_then_asked_again(host_states):
    """200 prompts of 8,448 tokens leave three checkpoints each at chunks of 4,096; then the first 8 come back."""
    prompts = [request(f"fill{i}", (1 + 10_000 * i, PROMPT_TOKENS)) for i in range(PROMPTS)]
    again = [request(f"again{i}", *prompts[i].prompt) for i in range(AGAIN)]
    host = HostPools(kv_tokens=2_680_896, state_slots=host_states)
    return server(kv_tokens=200_000, state_slots=60, chunk_tokens=4096, host=host), one_by_one(*prompts, *again)


@pytest.mark.parametrize("decide", [replay, replay_reference])
@pytest.mark.parametrize(("host_states", "reused"), [(565, 0), (734, 8192)])
def test_565_host_states_bring_back_none_of_eight_prompts_and_734_all(decide, host_states, reused):
    records = decide(*filled_then_asked_again(host_states)).records[-AGAIN:]
    assert [record.admissions[0].prefix for record in records] == [reused] * AGAIN


def test_what_565_states_leave_unused_is_kv():
    result = replay(*filled_then_asked_again(565))
    held = result.records[-1].occupancy
    assert held.host_state_free == 0
    assert held.host_kv_free / 2_680_896 > 0.35
    assert result.traffic.loaded_tokens == 0


def reuse_of_a_second_pass(policy, passes=1):
    """Ten prompts in turn on a device that holds three, so often, then once more."""
    prompts = [request(f"p{i}", (1 + 10_000 * i, 2048)) for i in range(10)]
    fill = [request(f"{n}-{prompt.id}", *prompt.prompt) for n in range(passes) for prompt in prompts]
    again = [request(f"again{i}", *prompt.prompt) for i, prompt in enumerate(prompts)]
    host = HostPools(kv_tokens=100_000, state_slots=100, write_policy=policy)
    config = server(kv_tokens=7_000, state_slots=24, chunk_tokens=1024, host=host, max_running_requests=1)
    result = replay(config, one_by_one(*fill, *again))
    return [record.admissions[0].prefix for record in result.records[-10:]], result.traffic


@pytest.mark.parametrize("policy", ["write_through", "write_back"])
def test_what_left_the_device_comes_back_from_the_host(policy):
    reused, traffic = reuse_of_a_second_pass(policy)
    assert reused == [1024] * 10
    assert traffic.loaded_tokens > 0


def test_selective_copies_only_what_was_met_twice():
    reused, traffic = reuse_of_a_second_pass("write_through_selective")
    assert reused == [0] * 10
    assert traffic.copied_tokens == 0


def test_without_a_tier_the_same_prompts_are_computed_anew():
    prompts = [request(f"p{i}", (1 + 10_000 * i, 2048)) for i in range(10)]
    again = [request(f"again{i}", *prompt.prompt) for i, prompt in enumerate(prompts)]
    config = server(kv_tokens=7_000, state_slots=24, chunk_tokens=1024, max_running_requests=1)
    result = replay(config, one_by_one(*prompts, *again))
    assert [record.admissions[0].prefix for record in result.records[-10:]] == [0] * 10
    assert result.traffic is None


def test_a_policy_that_is_none_is_refused():
    with pytest.raises(InputError, match="write policy `sometimes` cannot be replayed"):
        HostPools(kv_tokens=1, state_slots=1, write_policy="sometimes")


@pytest.mark.parametrize("sizes", [{"kv_tokens": 0, "state_slots": 1}, {"kv_tokens": 1, "state_slots": -1}])
def test_a_tier_without_room_is_refused(sizes):
    with pytest.raises(InputError, match="of the host tier is"):
        HostPools(**sizes)


@pytest.mark.parametrize("version", ["0.5.20", "next"])
def test_only_a_release_whose_tier_is_known_is_followed(version):
    with pytest.raises(InputError, match=f"host tier of release {version} is not known"):
        server(rules=cache_rules(version), host=HostPools(kv_tokens=1, state_slots=1))
