"""One buffer for both pools: what its parts are, and what it does with them."""

import pytest

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InputError
from poolsplit.replay.host_pools import HostPools
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.unified import UnifiedMemory
from replay_cases import one_by_one, request, server

PRICES = UnifiedMemory(slot_bytes=1286, token_bytes=32)


def test_a_buffer_holds_what_the_engines_does():
    config = server(kv_tokens=2048, state_slots=10, unified=PRICES)
    assert config.buffer.total_bytes == 2048 * 32 + 10 * 1286 == 78_396
    assert config.state_capacity_slots == 59
    assert config.kv_capacity_tokens == 2449 - 41
    assert config.buffer.free_bytes == 2449 * 32 - 1286
    assert config.running_cap == 2


def test_pages_larger_than_a_state_set_a_page_aside():
    buffer = server(
        kv_tokens=1024, state_slots=8, page_tokens=64, unified=UnifiedMemory(slot_bytes=640, token_bytes=32)
    ).buffer
    assert buffer.first_slot == 4
    assert buffer.kv_tokens == (buffer.total_bytes // 32 // 64 - 1) * 64


def test_states_take_bytes_that_kv_does_not_use():
    """Split pools of ten slots lose checkpoints that one buffer keeps."""
    prompts = [request(f"p{i}", (1 + 10_000 * i, 128)) for i in range(12)]
    again = [request(f"again{i}", *prompt.prompt, (5_000_000 + i, 64)) for i, prompt in enumerate(prompts)]
    asked = {"kv_tokens": 4096, "state_slots": 10, "max_running_requests": 1}
    split, shared = (
        replay(server(**asked, **more), one_by_one(*prompts, *again)) for more in ({}, {"unified": PRICES})
    )
    reused = [sum(record.admissions[0].prefix for record in result.records[12:]) for result in (split, shared)]
    assert reused[0] < reused[1] == 12 * 128


def test_it_is_not_replayed_with_a_host_tier_or_by_another_law():
    with pytest.raises(InputError, match="not replayed with a host tier"):
        server(unified=PRICES, host=HostPools(kv_tokens=1, state_slots=1))
    with pytest.raises(InputError, match=r"unified memory of release 0\.5\.20 is not known"):
        server(unified=PRICES, rules=cache_rules("0.5.20"))


@pytest.mark.parametrize("prices", [{"slot_bytes": 0, "token_bytes": 1}, {"slot_bytes": 1, "token_bytes": -1}])
def test_prices_are_at_least_one_byte(prices):
    with pytest.raises(InputError, match=r"`(slot|token)_bytes` is"):
        UnifiedMemory(**prices)
