"""Laws of the two pools that hold for every launch, whatever its flags."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pool_launches import gdn_shape, memory, resolved
from poolsplit.engines.sglang.shards import stage_ranges
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import VERSIONS, switches_for
from poolsplit.errors import LaunchRefusedError
from poolsplit.units import GIB

BASE = resolved()
SHAPES = {layers: gdn_shape(layers=layers) for layers in (4, 10, 33)}
DRAFTS = st.sampled_from([{}, {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4}])


@st.composite
def launches(draw):
    """A shape, a resolved launch and the rules of one release."""
    pp_size = draw(st.integers(1, 4))
    drafts = draw(DRAFTS)
    requests = draw(st.integers(1, 300)) if drafts else draw(st.none() | st.integers(1, 300))
    flags = replace(
        BASE,
        pp_size=pp_size,
        page_size=draw(st.sampled_from([1, 16, 64])),
        mem_fraction_static=draw(st.floats(0.5, 1.0)),
        mamba_full_memory_ratio=draw(st.floats(0.05, 20.0)),
        max_mamba_cache_size=draw(st.none() | st.integers(4, 400)),
        max_running_requests=requests,
        max_total_tokens=draw(st.none() | st.integers(100, 10**7)),
        disable_radix_cache=draw(st.booleans()),
        enable_mamba_extra_buffer=draw(st.booleans()),
        disable_overlap_schedule=pp_size > 1 or draw(st.booleans()),
        **drafts,
    )
    return draw(st.sampled_from(list(SHAPES.values()))), flags, switches_for(draw(st.sampled_from(VERSIONS)))


def pools_of(launch, before, after):
    shape, flags, switches = launch
    try:
        return solve(shape, flags, memory(before, after), switches)
    except LaunchRefusedError:
        return None


@given(launches(), st.floats(40.0, 280.0), st.floats(0.2, 1.0))
@settings(max_examples=120, deadline=None)
def test_rows_fill_their_budget_to_the_page_unless_a_cap_binds(launch, before, share):
    pools = pools_of(launch, before, before * share)
    assume(pools is not None)
    page = launch[1].page_size
    for stage in pools.stages:
        cell = stage.kv_bytes_per_token
        assert stage.kv_tokens % page == 0
        assert stage.kv_tokens * cell <= stage.kv_budget_bytes
    free = [stage for stage in pools.stages if stage.kv_bytes_per_token]
    uncapped = launch[1].max_total_tokens is None
    if uncapped and free:
        assert any((stage.kv_tokens + page) * stage.kv_bytes_per_token > stage.kv_budget_bytes for stage in free)


@given(launches(), st.floats(40.0, 280.0), st.floats(0.2, 1.0))
@settings(max_examples=120, deadline=None)
def test_an_automatic_state_pool_fills_its_share_to_the_slot(launch, before, share):
    shape, flags, switches = launch
    flags = replace(flags, max_mamba_cache_size=None, disable_radix_cache=False, speculative_algorithm=None)
    pools = pools_of((shape, flags, switches), before, before * share)
    assume(pools is not None)
    for stage in pools.stages:
        held = stage.state
        slot = pools.state.charged_bytes_per_slot
        assert held.pool_bytes <= held.budget_bytes
        assert held.pool_bytes + slot > held.budget_bytes - 1
        assert held.pool_bytes + stage.kv_budget_bytes <= stage.rest_gib * GIB + 1


@given(launches(), st.floats(40.0, 200.0), st.floats(0.2, 0.9), st.floats(0.1, 60.0))
@settings(max_examples=120, deadline=None)
def test_more_memory_never_gives_less_of_both(launch, before, share, more):
    less = pools_of(launch, before, before * share)
    assume(less is not None)
    grown = pools_of(launch, before, before * share + more)
    assert grown is not None
    assert grown.state_slots >= less.state_slots
    assert grown.kv_tokens >= less.kv_tokens or grown.state_slots > less.state_slots
    assert grown.max_running_requests >= less.max_running_requests or grown.state_slots > less.state_slots


@given(launches(), st.floats(40.0, 280.0), st.floats(0.2, 1.0))
@settings(max_examples=80, deadline=None)
def test_stages_that_see_the_same_memory_agree(launch, before, share):
    pools = pools_of(launch, before, before * share)
    assume(pools is not None)
    assert len({stage.state.state_slots for stage in pools.stages}) == 1
    assert len({stage.kv_tokens for stage in pools.stages}) == 1
    assert pools.pp_max_micro_batch_size == max(pools.max_running_requests // launch[1].pp_size, 1)
    assert pools.max_running_requests * pools.slots_per_request <= pools.state_slots
    assert 2 * pools.max_running_requests <= pools.kv_tokens


@given(st.integers(1, 200), st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_stages_cover_all_layers_in_order(layers, stages):
    ranges = stage_ranges(layers, stages)
    assert [stage.start for stage in ranges] == [0, *(stage.end for stage in ranges[:-1])]
    assert ranges[-1].end == layers
    sizes = [stage.end - stage.start for stage in ranges]
    assert sizes == sorted(sizes)
    assert sizes[-1] - sizes[0] <= 1
