"""The arms of the state pool, on published figures and at the edges."""

from dataclasses import replace

import pytest

from pool_launches import FIRST, LATEST, gdn_shape, resolved
from poolsplit.engines.sglang.shards import stage_ranges, widest_stage_scale
from poolsplit.engines.sglang.solver.state_pool import (
    StateCharges,
    StateDemand,
    requests_per_worker,
    solve_state_pool,
    state_charges,
)
from poolsplit.errors import LaunchRefusedError
from poolsplit.hub import find_model
from poolsplit.shapes.costs import StateFormat
from poolsplit.units import GIB, MIB

K3 = find_model("moonshotai/Kimi-K3").shape
LAYER_BYTES = 4_218_880
"""The published fixture: windows (4096, 3) in bf16, state (64, 128, 128) in fp32."""
UNRELEASED = replace(LATEST, charge_widest_stage=False)
"""The padding slot with the whole model charged: between two releases, in neither."""


def charges(**changes):
    base = {
        "slot_bytes": 100 * MIB,
        "extra_slot_bytes": 0,
        "fixed_bytes": 0,
        "padding": 1,
        "draft_states": 0,
        "requests": None,
    }
    return StateCharges(**{**base, **changes})


def published(layer_bytes, pp_size, switches, rest_gib, **flags):
    """The 69 state layers of Kimi-K3, as many bytes a layer as given."""
    ranges = stage_ranges(K3.layers, pp_size)
    demand = StateDemand(
        state=StateFormat(width=1, conv_element_bytes=2, state_element_bytes=4),
        slot_bytes=69 * layer_bytes,
        extra_slot_bytes=0,
        scale=widest_stage_scale(K3, ranges, switches),
    )
    plain = resolved(K3, **flags)
    return solve_state_pool(rest_gib, state_charges(K3, plain, switches, demand), plain, 0)


@pytest.mark.parametrize(
    ("switches", "pp_size", "left"),
    [
        (LATEST, 8, ("66.00", "64.87", "62.54", "58.37")),
        (LATEST, 1, ("39.36", "30.69", "12.80", "-19.20")),
        (UNRELEASED, 8, ("39.36", "30.69", "12.80", "-19.20")),
        (FIRST, 8, ("39.64", "30.96", "13.07", "-18.92")),
        (FIRST, 1, ("39.64", "30.96", "13.07", "-18.92")),
    ],
)
def test_seventy_gib_under_four_pins(switches, pp_size, left):
    pools = [published(LAYER_BYTES, pp_size, switches, 70.0, max_mamba_cache_size=pin) for pin in (112, 144, 210, 328)]
    assert tuple(f"{pool.rest_gib:.2f}" for pool in pools) == left


@pytest.mark.parametrize(
    ("switches", "pp_size", "slots"), [(LATEST, 1, 8), (LATEST, 8, 74), (FIRST, 1, 9), (FIRST, 8, 9)]
)
def test_eight_gib_at_half_a_state_for_a_row(switches, pp_size, slots):
    assert published(LAYER_BYTES, pp_size, switches, 8.0, mamba_full_memory_ratio=0.5).state_slots == slots


@pytest.mark.parametrize("budget_gib", [11.53, 11.55, 11.57])
def test_kimi_k3_over_eight_stages_before_and_after(budget_gib):
    rest = budget_gib * 1.9 / 0.9
    slots = [published(6_512_640, 8, switches, rest).state_slots for switches in (LATEST, FIRST, UNRELEASED)]
    assert slots == [210, 27, 26]
    assert [count // 4 for count in slots] == [52, 6, 6]


@pytest.mark.parametrize(("switches", "extra", "slots"), [(LATEST, 0, 9), (LATEST, 4 * MIB, 4), (FIRST, 0, 10)])
def test_four_layers_of_one_mib(switches, extra, slots):
    plain = resolved(mamba_full_memory_ratio=0.5)
    held = charges(slot_bytes=4 * MIB, extra_slot_bytes=extra, padding=int(switches.padding_slot))
    pool = solve_state_pool(120 / 1024, held, plain, 0)
    assert pool.state_slots == slots
    assert pool.arm == "auto"
    if switches is LATEST:
        assert round(pool.rest_gib * 1024) == 80


def test_a_pin_is_divided_over_the_workers_and_reserves_verification_of_those_that_run():
    plain = resolved(max_mamba_cache_size=500, attn_dp_size=4, enable_mamba_extra_buffer=True)
    pool = solve_state_pool(64.0, charges(draft_states=4, requests=3), plain, 0)
    assert (pool.arm, pool.state_slots, pool.budget_bytes) == ("pinned", 125, None)
    assert pool.verify_bytes == 100 * MIB * (3 + 1) * 4
    assert pool.pool_bytes == 126 * 100 * MIB
    assert pool.rest_gib == 64.0 - pool.verify_bytes / GIB - pool.pool_bytes / GIB


def test_without_a_radix_cache_the_requests_are_the_slots():
    plain = resolved(disable_radix_cache=True, mamba_full_memory_ratio=5.0)
    pool = solve_state_pool(64.0, charges(draft_states=2, requests=48), plain, 0)
    assert (pool.arm, pool.state_slots) == ("from_requests", 48)
    assert pool.verify_bytes == 100 * MIB * 49 * 2


def test_draft_states_are_priced_by_the_slot_and_deducted_by_the_request():
    plain = resolved(enable_mamba_extra_buffer=True, disable_overlap_schedule=False, mamba_full_memory_ratio=0.9)
    pool = solve_state_pool(100.0, charges(draft_states=4, requests=48), plain, 0)
    budget = 100.0 * 0.9 / 1.9 * GIB
    assert pool.budget_bytes == budget
    assert pool.state_slots == int((budget - 100 * MIB * 5) // (100 * MIB * (1 + 4 / 5)))
    assert pool.verify_bytes == 100 * MIB * (min(48, pool.state_slots // 5) + 1) * 4


def test_fixed_rings_come_before_the_slots():
    plain = resolved()
    pool = solve_state_pool(100.0, charges(fixed_bytes=10 * GIB), plain, 0)
    assert pool.state_slots == int((100.0 * 0.9 / 1.9 * GIB - 10 * GIB - 100 * MIB) // (100 * MIB))
    assert pool.pool_bytes == (pool.state_slots + 1) * 100 * MIB + 10 * GIB


def test_an_empty_pool_is_refused_with_what_is_left_after_the_scratch():
    plain = resolved(enable_mamba_extra_buffer=True, disable_overlap_schedule=False)
    with pytest.raises(LaunchRefusedError) as refused:
        solve_state_pool(0.1, charges(draft_states=4, requests=48), plain, 3)
    error = refused.value
    assert (error.stage, error.reason) == ("solver[pp_rank=3]", "state_pool_empty")
    slots = error.figures["max_mamba_cache_size"]
    assert slots <= 0
    assert error.figures["rest_gib"] == 0.1 - 100 * MIB * (slots // 5 + 1) * 4 / GIB
    assert error.figures["slot_mib"] == 100.0
    assert "--mem-fraction-static" in error.hint


def test_a_pin_below_the_workers_is_an_empty_pool():
    with pytest.raises(LaunchRefusedError) as refused:
        solve_state_pool(64.0, charges(), resolved(max_mamba_cache_size=3, attn_dp_size=4), 0)
    assert refused.value.figures["max_mamba_cache_size"] == 0


def test_requests_of_a_worker_are_floored_at_one_in_the_last_release_only():
    three = resolved(max_running_requests=3, attn_dp_size=4)
    assert requests_per_worker(three, LATEST) == 1
    assert requests_per_worker(three, FIRST) == 0
    assert requests_per_worker(resolved(max_running_requests=None), LATEST) is None


def test_prefill_servers_reserve_no_scratch_unless_they_may_decode():
    demand = StateDemand(
        state=StateFormat(width=1, conv_element_bytes=2, state_element_bytes=4),
        slot_bytes=MIB,
        extra_slot_bytes=0,
        scale=1.0,
    )
    speculating = {
        "speculative_algorithm": "EAGLE",
        "speculative_num_draft_tokens": 4,
        "max_running_requests": 48,
        "disaggregation_mode": "prefill",
    }

    def drafts(switches, **changes):
        flags = resolved(**{**speculating, **changes})
        return state_charges(gdn_shape(), flags, switches, demand).draft_states

    assert drafts(LATEST) == 0
    assert drafts(FIRST) == 4
    assert drafts(LATEST, enable_pd_role_switch=True) == 4
    assert drafts(LATEST, enable_unified_memory=True) == 4
