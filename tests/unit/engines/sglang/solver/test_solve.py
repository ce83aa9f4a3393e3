"""Whole launches: stages, caps, requests, what is refused where, and the same launch on every release."""

from dataclasses import replace

import pytest

from pool_launches import FIRST, LATEST, gdn_shape, launch, memory, published_glm, resolved
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.versions import VERSIONS, switches_for
from poolsplit.errors import LaunchRefusedError
from poolsplit.hub import find_draft, find_model

NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
AT_60 = {"tp_size": 2, "mem_fraction_static": 0.85}
EAGLE = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_eagle_topk": 1}
EAGLE_4 = {**EAGLE, "speculative_num_draft_tokens": 4, "max_running_requests": 48}


def solved(release, free=None, **args):
    shape, flags = launch(NEXT, release=release, **AT_60, **args)
    return solve(shape, flags, free or memory(139.0, 60.0), switches_for(release))


def by_release(first, *later):
    """A figure per release: the first, then (release from which, figure)."""
    changes = dict(later)
    found, current = {}, first
    for release in VERSIONS:
        current = changes.get(release, current)
        found[release] = current
    return found


@pytest.mark.parametrize("release", VERSIONS)
@pytest.mark.parametrize(
    ("args", "figures"),
    [
        ({}, by_release((515, 103, 1_801_819), ("0.5.17", (514, 102, 1_801_819)))),
        ({"pp_size": 8}, by_release((515, 128, 10_810_915), ("0.5.17", (3709, 927, 10_805_675)))),
        (EAGLE_4, by_release((286, 48, 1_918_147), ("0.5.17", (283, 48, 1_911_859)))),
        (
            {**EAGLE_4, "disaggregation_mode": "prefill"},
            by_release((286, 48, 1_918_147), ("0.5.17", (283, 48, 1_911_859)), ("0.5.22", (514, 48, 1_801_819))),
        ),
    ],
    ids=["plain", "pp8", "eagle", "eagle_prefill"],
)
def test_the_same_launch_on_every_release(release, args, figures):
    pools = solved(release, **args)
    assert (pools.state_slots, pools.max_running_requests, pools.kv_tokens) == figures[release]


@pytest.mark.parametrize("release", VERSIONS)
def test_extra_bytes_of_a_slot_are_priced_from_one_release_on(release):
    pools = solved(release, memory(139.0, 60.0, extra_slot_bytes=1 << 20))
    want = by_release((515, 103), ("0.5.17", (514, 102)), ("0.5.22", (500, 100)))
    assert (pools.state_slots, pools.max_running_requests) == want[release]


@pytest.mark.parametrize("release", VERSIONS)
def test_fewer_requests_than_workers(release):
    args = {"tp_size": 4, "dp_size": 4, "enable_dp_attention": True, "max_running_requests": 3}
    shape, flags = launch(NEXT, release=release, mem_fraction_static=0.85, **args)
    if release != "0.5.23":
        with pytest.raises(LaunchRefusedError, match="request"):
            solve(shape, flags, memory(139.0, 60.0), switches_for(release))
        return
    pools = solve(shape, flags, memory(139.0, 60.0), switches_for(release))
    assert (pools.state_slots, pools.max_running_requests, pools.kv_tokens) == (256, 1, 902_481)


def test_the_least_rows_over_the_stages_decide_and_every_stage_aligns_them():
    shape = gdn_shape(layers=10)
    flags = resolved(shape, pp_size=3, page_size=64, disable_overlap_schedule=True)
    pools = solve(shape, flags, memory(100.0, 80.0), LATEST)
    cells = [stage.kv_bytes_per_token for stage in pools.stages]
    assert [stage.kv_layers for stage in pools.stages] == [0, 1, 1]
    assert cells[0] == 0
    least = pools.stages[0].kv_budget_bytes // max(cells) // 64 * 64
    assert {stage.kv_tokens for stage in pools.stages} == {least}
    assert pools.pp_max_micro_batch_size == pools.max_running_requests // 3


def test_stages_with_their_own_memory_solve_their_own_slots():
    shape, flags = launch(NEXT, **AT_60, pp_size=2)
    own = solve(shape, flags, memory(139.0, (60.0, 50.0), shared_minimum=False), LATEST)
    shared = solve(shape, flags, memory(139.0, (60.0, 50.0)), LATEST)
    slots = [stage.state.state_slots for stage in own.stages]
    assert slots[0] > slots[1]
    assert {stage.state.state_slots for stage in shared.stages} == {slots[1]}
    assert own.state_slots == slots[0]


def test_context_ranks_multiply_the_tokens_of_requests():
    shape, flags = launch("moonshotai/Kimi-Linear-48B-A3B-Instruct", tp_size=8, dcp_size=8, mem_fraction_static=0.85)
    pools = solve(shape, flags, memory(139.0, 60.0), LATEST)
    assert pools.logical_tokens == 8 * pools.kv_tokens


def test_a_model_without_attention_reports_its_context():
    shape, flags = launch("mistralai/Mamba-Codestral-7B-v0.1", mem_fraction_static=0.85, context_length=2048)
    pools = solve(shape, flags, memory(139.0, 60.0), LATEST)
    assert pools.kv_tokens == 2048
    capped = solve(shape, replace(flags, max_total_tokens=777), memory(139.0, 60.0), LATEST)
    assert capped.kv_tokens == 777


def test_a_model_without_states_has_no_state_pool_and_echoes_a_pin():
    shape = replace(gdn_shape(), state=None, state_layer_ids=())
    flags = resolved(shape, max_mamba_cache_size=96)
    pools = solve(shape, flags, memory(100.0, 60.0), LATEST)
    assert (pools.state, pools.slots_per_request, pools.state_slots) == (None, None, 96)
    assert pools.stages[0].state_layers is None
    assert pools.stages[0].kv_layers is None


@pytest.mark.parametrize(
    ("switches", "changes", "free", "reason"),
    [
        (LATEST, {}, memory(100.0, 10.0), "state_pool_empty"),
        (LATEST, {"max_mamba_cache_size": 100_000}, memory(100.0, 60.0), "no_memory_for_kv"),
        (LATEST, {"max_mamba_cache_size": 2}, memory(100.0, 60.0), "below_one_request"),
        (LATEST, {"max_total_tokens": 1}, memory(100.0, 60.0), "below_one_request"),
        (LATEST, {"max_total_tokens": 63, "page_size": 64}, memory(100.0, 60.0), "kv_pool_empty"),
        (FIRST, {"pp_size": 8, "disable_overlap_schedule": True}, memory(100.0, 60.0), "stage_without_attention"),
    ],
)
def test_refusals_name_the_rank(switches, changes, free, reason):
    with pytest.raises(LaunchRefusedError) as refused:
        solve(gdn_shape(), resolved(**changes), free, switches)
    assert (refused.value.stage, refused.value.reason) == ("solver[pp_rank=0]", reason)
    assert refused.value.hint


def test_the_advice_of_an_overfull_launch_is_rounded_up():
    with pytest.raises(LaunchRefusedError) as refused:
        solve(gdn_shape(), resolved(max_mamba_cache_size=100_000), memory(100.0, 39.89), LATEST)
    assert refused.value.figures == {"mem_fraction_static": 0.9, "raise_above": 0.602, "minimum": 1 - 39.89 / 100.0}


@pytest.mark.parametrize(("release", "refused"), [("0.5.20", True), ("0.5.21", False)])
def test_stages_and_mtp_until_one_release(release, refused):
    shape = replace(gdn_shape(), num_nextn_predict_layers=1)
    flags = resolved(
        shape,
        pp_size=2,
        disable_overlap_schedule=True,
        speculative_algorithm="EAGLE",
        speculative_num_draft_tokens=4,
        max_running_requests=48,
    )
    if not refused:
        assert solve(shape, flags, memory(100.0, 60.0), switches_for(release)).stages
        return
    with pytest.raises(LaunchRefusedError) as error:
        solve(shape, flags, memory(100.0, 60.0), switches_for(release))
    assert error.value.reason == "pp_with_mtp"


def test_the_published_boot_of_glm():
    _, _, pools = published_glm()
    assert pools.stages[0].rest_gib == pytest.approx(62.4475)
    assert (pools.state_slots, pools.kv_tokens, pools.max_running_requests) == (429, 5_890_560, 85)


def test_hopper_pays_for_scales_in_the_same_rows():
    shape, flags = launch("zai-org/GLM-5.3-Flash", tp_size=2, kv_cache_dtype="fp8_e4m3", mem_fraction_static=0.9)
    pools = solve(shape, flags, memory(139.0, 100.0), LATEST)
    assert pools.stages[0].kv_bytes_per_token == 6_171


def test_bailing_v3_is_read_as_something_else_before_one_release():
    shape, flags = launch("inclusionAI/Ling-3.0-flash", release="0.5.18", tp_size=8, mem_fraction_static=0.9)
    early = solve(shape, flags, memory(139.0, 100.0), switches_for("0.5.18"))
    assert early.state is not None
    assert early.state.conv_shapes == ((0, 0),)
    late = solve(shape, flags, memory(139.0, 100.0), switches_for("0.5.19"))
    assert late.state is not None
    assert late.state.conv_shapes != ((0, 0),)


def test_a_model_named_as_its_own_draft_adds_one_layer():
    shape, flags = launch(NEXT, **AT_60, **EAGLE_4)
    plain = solve(shape, flags, memory(139.0, 60.0), LATEST)
    drafted = solve(shape, replace(flags, eagle_draft_layers=1), memory(139.0, 60.0), LATEST, find_draft(NEXT))
    cell = plain.stages[0].kv_bytes_per_token
    assert drafted.stages[0].kv_bytes_per_token == cell + cell // 12
    assert find_model(NEXT).shape.num_nextn_predict_layers is None


def test_more_context_ranks_than_attention_ranks():
    crowded = {"dcp_size": 8, "tp_size": 4, "attn_tp_size": 4}
    with pytest.raises(LaunchRefusedError, match="8 context ranks") as error:
        solve(gdn_shape(), resolved(**crowded), memory(100.0, 60.0), LATEST)
    assert (error.value.stage, error.value.reason) == ("solver[pp_rank=0]", "stage_without_attention")
    with pytest.raises(LaunchRefusedError, match="no state slot"):
        solve(gdn_shape(), resolved(**crowded), memory(100.0, 10.0), LATEST)
    shape, flags = launch("moonshotai/Kimi-Linear-48B-A3B-Instruct", tp_size=4, mem_fraction_static=0.85)
    latent = solve(shape, replace(flags, dcp_size=8), memory(139.0, 60.0), LATEST)
    assert latent.logical_tokens == 8 * latent.kv_tokens


@pytest.mark.parametrize(("release", "refuses"), [("0.5.23", True), ("0.5.19", False)])
def test_rings_by_the_request_need_a_number_of_requests(release, refuses):
    flags = resolved(enable_linear_replayssm_spec=True, max_running_requests=None)
    if refuses:
        with pytest.raises(LaunchRefusedError, match="number of them"):
            solve(gdn_shape(), flags, memory(100.0, 60.0), switches_for(release))
    else:
        assert solve(gdn_shape(), flags, memory(100.0, 60.0), switches_for(release)).state_slots
