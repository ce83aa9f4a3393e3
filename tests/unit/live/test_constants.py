"""The split for a measured length, put back into the engine's own solver."""

from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.engines.device import Device
from poolsplit.engines.free_memory import FreeMemory
from poolsplit.engines.sglang.flags import Flags
from poolsplit.engines.sglang.rules import resolve_flags
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_model
from poolsplit.live.constants import PoolConstants, PoolSizes, fit_split

CARD = Device(name="h200", memory_mib=143_771, compute_capability=(9, 0))
LAUNCHES = {
    "plain": ("Qwen/Qwen3.5-27B", Flags(tp_size=2)),
    "lazy": ("Qwen/Qwen3.5-27B", Flags(tp_size=2, mamba_radix_cache_strategy="extra_buffer_lazy")),
    "speculation": (
        "Qwen/Qwen3.5-27B",
        Flags(
            tp_size=2,
            max_running_requests=512,
            speculative_algorithm="EAGLE",
            speculative_num_steps=3,
            speculative_eagle_topk=1,
            speculative_num_draft_tokens=4,
        ),
    ),
}


@lru_cache(maxsize=8)
def launch(name):
    model, flags = LAUNCHES[name]
    shape = find_model(model).shape
    return shape, resolve_flags(shape, flags, CARD, switches_for("0.5.23"))


def solved(name, memory, ratio=0.9):
    shape, resolved = launch(name)
    asked = replace(resolved, mamba_full_memory_ratio=ratio, mamba_full_memory_ratio_source="flag")
    return solve(shape, asked, memory, switches_for("0.5.23"))


def constants_and_sizes(pools):
    constants = PoolConstants(
        state_bytes_per_slot=pools.state.charged_bytes_per_slot,
        kv_bytes_per_token=pools.stages[0].kv_bytes_per_token,
        slots_per_request=pools.slots_per_request,
        draft_states=pools.draft_states,
        origin="test",
    )
    return constants, PoolSizes(
        state_slots=pools.state_slots, kv_tokens=pools.kv_tokens, granted=pools.max_running_requests
    )


def running(pools, tokens):
    return min(pools.state_slots // pools.slots_per_request, int(pools.kv_tokens // tokens), pools.max_running_requests)


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(LAUNCHES)),
    after_gib=st.floats(min_value=70, max_value=130),
    tokens=st.integers(min_value=2_000, max_value=200_000),
)
def test_the_ratio_runs_what_it_says_when_the_solver_gets_it(name, after_gib, tokens):
    memory = FreeMemory(before_gib=139.0, after_gib=(after_gib,))
    constants, sizes = constants_and_sizes(solved(name, memory))
    fit = fit_split(constants, sizes, tokens)
    assert fit is not None
    again = running(solved(name, memory, fit.state_to_kv_ratio), tokens)
    assert abs(again - fit.running_requests) <= 1
    assert fit.now_running_requests == running(solved(name, memory), tokens)


@settings(max_examples=10, deadline=None)
@given(name=st.sampled_from(["plain", "lazy"]), tokens=st.integers(min_value=2_000, max_value=100_000))
def test_no_other_ratio_runs_more(name, tokens):
    memory = FreeMemory(before_gib=139.0, after_gib=(110.0,))
    constants, sizes = constants_and_sizes(solved(name, memory))
    fit = fit_split(constants, sizes, tokens)
    best = max(running(solved(name, memory, ratio / 50), tokens) for ratio in range(2, 150, 2))
    assert best <= fit.running_requests + 1


def test_nothing_fits_a_request_larger_than_both_pools():
    constants = PoolConstants(state_bytes_per_slot=1000, kv_bytes_per_token=1.0, slots_per_request=5, origin="test")
    assert fit_split(constants, PoolSizes(state_slots=10, kv_tokens=100, granted=2), 1e9) is None


def test_a_ring_of_context_ranks_holds_more_tokens():
    one = PoolConstants(state_bytes_per_slot=1000, kv_bytes_per_token=1.0, slots_per_request=1, origin="test")
    sizes = PoolSizes(state_slots=10, kv_tokens=10_000, granted=None)
    assert sizes.running_requests(replace(one, dcp_size=2), 10_000) == 2 * sizes.running_requests(one, 10_000)


@pytest.mark.parametrize(("granted", "running_requests"), [(None, 2), (1, 1)])
def test_the_request_limit_counts(granted, running_requests):
    constants = PoolConstants(state_bytes_per_slot=1000, kv_bytes_per_token=1.0, slots_per_request=5, origin="test")
    assert constants.token_equiv == 1000
    sizes = PoolSizes(state_slots=10, kv_tokens=100_000, granted=granted)
    assert sizes.running_requests(constants, 100) == running_requests
