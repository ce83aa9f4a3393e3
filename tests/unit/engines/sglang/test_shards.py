"""How a launch divides a model."""

from dataclasses import replace

import pytest

from pool_launches import FIRST, LATEST, gdn_shape, resolved
from poolsplit.engines.sglang.shards import (
    StageRange,
    kv_head_width,
    stage_ranges,
    state_width,
    widest_stage_scale,
)
from poolsplit.errors import LaunchRefusedError
from poolsplit.hub import find_model

GIB = 1 << 30
MIB = 1 << 20


def sizes(ranges):
    return [stage.end - stage.start for stage in ranges]


def test_the_remainder_goes_to_the_last_stages():
    assert sizes(stage_ranges(93, 8)) == [11, 11, 11, 12, 12, 12, 12, 12]
    assert stage_ranges(10, 1) == (StageRange(start=0, end=10),)


def test_a_given_partition_is_taken_and_must_add_up():
    assert sizes(stage_ranges(10, 2, (3, 7))) == [3, 7]
    assert sizes(stage_ranges(10, 1, (3, 7))) == [10]
    with pytest.raises(LaunchRefusedError) as refused:
        stage_ranges(10, 2, (3, 6))
    assert (refused.value.stage, refused.value.reason) == ("solver[pp_rank=0]", "pp_partition_sum")
    assert refused.value.figures == {"sum": 9, "layers": 10}


def test_kimi_k3_over_eight_stages():
    shape = find_model("moonshotai/Kimi-K3").shape
    assert [stage.count(shape.state_layer_ids) for stage in stage_ranges(shape.layers, 8)] == [9, 8, 8, 9, 9, 9, 9, 8]


def test_the_widest_stage_gives_every_stage_the_same_micro_batch():
    """145 state budgets from 4 to 40 GiB, 12 MiB a layer, 5 slots a request: 95 differ with each stage's own share."""
    shape = find_model("moonshotai/Kimi-K3").shape
    ranges = stage_ranges(shape.layers, 8)
    layers = [stage.count(shape.state_layer_ids) for stage in ranges]
    slot = len(shape.state_layer_ids) * 12 * MIB
    charged = int(slot * widest_stage_scale(shape, ranges, LATEST))

    def micro_batch(budget, slot_bytes):
        return max(int(budget // slot_bytes) // 5 // 8, 1)

    differing = 0
    for quarter in range(145):
        budget = 4 * GIB + quarter * GIB // 4
        shared = {micro_batch(budget, charged) for _ in layers}
        assert shared == {micro_batch(budget, 9 * 12 * MIB)}
        differing += len({micro_batch(budget, count * 12 * MIB) for count in layers}) > 1
    assert differing == 95


def test_the_scale_is_the_engines_rounded_float():
    shape = find_model("moonshotai/Kimi-K3").shape
    ranges = stage_ranges(shape.layers, 8)
    assert widest_stage_scale(shape, ranges, LATEST) == 9 / 69
    assert widest_stage_scale(shape, ranges, FIRST) == 1.0
    assert widest_stage_scale(shape, stage_ranges(shape.layers, 1), LATEST) == 1.0
    assert widest_stage_scale(replace(shape, state_layer_ids=()), ranges, LATEST) == 0.0


def test_state_is_split_over_attention_ranks_except_where_all_ranks_share_it():
    flags = resolved(tp_size=8, attn_tp_size=2)
    assert state_width(gdn_shape(), flags) == 2
    assert state_width(replace(gdn_shape(), architecture="Mamba2ForCausalLM"), flags) == 8


def test_context_ranks_keep_copies_of_heads_from_the_third_release_on():
    flags = resolved(attn_tp_size=8, dcp_size=4)
    assert kv_head_width(flags, LATEST) == 2
    assert kv_head_width(flags, FIRST) == 8


def test_layers_of_a_stage():
    stage = StageRange(start=3, end=9)
    assert stage.of((0, 3, 5, 8, 9)) == (3, 5, 8)
    assert stage.count((0, 3, 5, 8, 9)) == 3
