"""What a server is, and which servers cannot be."""

import pytest

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InputError
from replay_cases import server


@pytest.mark.parametrize(
    ("options", "slots"),
    [
        ({"strategy": "extra_buffer", "overlap": True}, 5),
        ({"strategy": "extra_buffer", "overlap": False}, 4),
        ({"strategy": "extra_buffer_lazy"}, 4),
        ({"strategy": "no_buffer"}, 3),
        ({"strategy": "extra_buffer", "skip_decode_lock": True}, 4),
        ({"strategy": "no_buffer", "skip_decode_lock": True}, 3),
    ],
)
def test_slots_a_running_request(options, slots):
    assert server(**options).slots_per_request == slots


def test_the_cap_on_running_requests_is_the_least_of_three():
    assert server(state_slots=64).running_cap == 12
    assert server(state_slots=64, max_running_requests=7).running_cap == 7
    assert server(state_slots=64, kv_tokens=9).running_cap == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "half_buffer"}, "strategy"),
        ({"eviction": "random"}, "eviction"),
        ({"order": "hrrn"}, "schedule"),
        ({"strategy": "no_buffer", "overlap": True}, "without overlap"),
        ({"strategy": "no_buffer", "page_tokens": 16}, "pages of one token"),
        ({"strategy": "extra_buffer_lazy", "overlap": False}, "with overlap"),
        ({"state_slots": 4}, "serve no request"),
        ({"chunk_tokens": 0}, "chunk_tokens"),
        ({"max_states_per_path": 0}, "cap on states"),
        ({"rules": cache_rules("next"), "strategy": "no_buffer"}, "not described"),
        ({"rules": cache_rules("0.5.16"), "max_states_per_path": 2}, "no cap"),
        ({"rules": cache_rules("0.5.16"), "skip_decode_lock": True}, "always locks"),
    ],
)
def test_servers_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        server(**options)


def test_the_grid_joins_chunk_and_page_since_0_5_18():
    old, new = (server(rules=cache_rules(v), page_tokens=48, state_chunk_tokens=64) for v in ("0.5.17", "0.5.18"))
    assert (old.checkpoint_grid_tokens, new.checkpoint_grid_tokens) == (64, 192)


def test_only_the_newest_release_is_held_to_the_engine():
    assert cache_rules().evidence == "run"
    assert {cache_rules(f"0.5.{n}").evidence for n in range(16, 23)} == {"read"}
    assert cache_rules("next").evidence == "documentation"
    with pytest.raises(InputError, match="not known"):
        cache_rules("0.4.9")


@pytest.mark.parametrize("options", [{"kv_tokens": 1 << 61}, {"state_slots": 10**20}])
def test_no_pool_is_larger_than_the_kernel_counts(options):
    with pytest.raises(InputError, match=f"`{next(iter(options))}`") as refused:
        server(**options)
    assert "at most" in refused.value.hint


def test_a_cap_of_no_running_requests_is_named_as_such():
    with pytest.raises(InputError, match="0 running requests serve nobody"):
        server(state_slots=64, max_running_requests=0)
