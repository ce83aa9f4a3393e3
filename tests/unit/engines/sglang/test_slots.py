"""State slots of one running request: every strategy, with and without overlap and decode locks."""

import pytest

from pool_launches import resolved
from poolsplit.engines.sglang.slots import decode_tracking_slots, draft_states, slots_per_request
from poolsplit.errors import LaunchRefusedError

BUFFERED = {"enable_mamba_extra_buffer": True, "disable_radix_cache": False}
LAZY = {**BUFFERED, "enable_mamba_extra_buffer_lazy": True}
PLAIN = {"enable_mamba_extra_buffer": False, "disable_radix_cache": False}
NO_RADIX = {"enable_mamba_extra_buffer": False, "disable_radix_cache": True}


@pytest.mark.parametrize(
    ("strategy", "with_overlap", "without", "unlocked", "unlocked_without"),
    [(NO_RADIX, 1, 1, 1, 1), (PLAIN, 3, 3, 3, 3), (BUFFERED, 5, 4, 4, 3), (LAZY, 4, None, 3, None)],
    ids=["no_radix", "no_buffer", "extra_buffer", "extra_buffer_lazy"],
)
def test_the_table_of_strategies(strategy, with_overlap, without, unlocked, unlocked_without):
    for unlock, overlap_off, want in [
        (False, False, with_overlap),
        (False, True, without),
        (True, False, unlocked),
        (True, True, unlocked_without),
    ]:
        flags = resolved(**strategy, skip_decode_lock=unlock, disable_overlap_schedule=overlap_off)
        if want is not None:
            assert slots_per_request(flags) == want
            continue
        with pytest.raises(LaunchRefusedError) as refused:
            slots_per_request(flags, pp_rank=2)
        assert (refused.value.stage, refused.value.reason) == ("solver[pp_rank=2]", "lazy_needs_overlap")


def test_draft_states_are_the_draft_tokens():
    assert draft_states(resolved(speculative_algorithm="EAGLE", speculative_num_draft_tokens=4)) == 4
    assert draft_states(resolved(speculative_algorithm=None, speculative_num_draft_tokens=4)) == 0


@pytest.mark.parametrize(("buffered", "overlap_off", "slots"), [(True, False, 2), (True, True, 1), (False, False, 0)])
def test_tracking_slots_of_a_decode_server(buffered, overlap_off, slots):
    flags = resolved(enable_mamba_extra_buffer=buffered, disable_overlap_schedule=overlap_off)
    assert decode_tracking_slots(flags) == slots
