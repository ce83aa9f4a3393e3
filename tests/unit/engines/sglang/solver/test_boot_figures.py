"""Sizes that the start-up log prints, and how they differ from what the solver reserves."""

from dataclasses import replace

import pytest

from pool_launches import LATEST, gdn_shape, launch, memory, published_glm, resolved
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.solver.boot_figures import rank_figures, state_pool_rows
from poolsplit.engines.sglang.solver.derivation import derive
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.units import GIB

NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
K3 = "moonshotai/Kimi-K3"


def figures(model, flags_changes, **args):
    shape, flags = launch(model, mem_fraction_static=0.9, **args)
    flags = replace(flags, **flags_changes)
    pools = solve(shape, flags, memory(139.0, 110.0), LATEST)
    return pools, rank_figures(shape, flags, LATEST, pools)[0]


def spare(pools, rank):
    """Reserved less allocated bytes of the state pool, its scratch and its rings."""
    reserved = pools.stages[0].state.pool_bytes + pools.stages[0].state.verify_bytes
    state = rank.state
    taken = state.conv_bytes + state.recurrent_bytes + (state.ring_bytes or 0)
    return reserved - taken - (state.verify_recurrent_bytes or 0) - (state.verify_conv_bytes or 0)


DRAFTS = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4, "speculative_eagle_topk": 1}
DRAFTS_8 = {"speculative_algorithm": "DSPARK", "speculative_num_draft_tokens": 8, "speculative_eagle_topk": 1}
REPLAY = {"enable_linear_replayssm_spec": True, "linear_replayssm_cache_len": 16}


@pytest.mark.parametrize(
    ("model", "tp", "slots", "requests", "changes", "bytes_spare"),
    [
        (NEXT, 2, 340, 48, DRAFTS, 86_704_128),
        (NEXT, 2, 607, 48, {**DRAFTS, **REPLAY}, -86_704_128),
        (K3, 8, 200, 40, DRAFTS_8, 0),
        (K3, 8, 200, 40, {**DRAFTS_8, **REPLAY}, -625_729_536),
    ],
)
def test_what_the_real_pool_allocates_beside_its_reserve(model, tp, slots, requests, changes, bytes_spare):
    """The figures of the engine's own pool, built on a device without memory."""
    pools, rank = figures(model, {**changes, "max_running_requests": requests}, tp_size=tp, max_mamba_cache_size=slots)
    assert pools.max_running_requests == requests
    assert spare(pools, rank) == bytes_spare


@pytest.mark.parametrize(
    ("version", "drafts", "printed"),
    [("0.5.19", True, None), ("0.5.21", True, "2.75"), ("0.5.21", False, "2.67"), ("0.5.23", True, "2.67")],
)
def test_a_draft_layer_of_glm_is_among_the_states_in_some_releases(version, drafts, printed):
    """Pull request 39433 of SGLang prints 2.75 before and 2.67 after, on four ranks with 160 bfloat16 slots."""
    switches = switches_for(version)
    if printed is None:
        assert not switches.states_of_own_drafts
        return
    shape, flags = launch("zai-org/GLM-5.3-Flash", tp_size=4, mamba_ssm_dtype="bfloat16", max_mamba_cache_size=160)
    flags = replace(flags, max_running_requests=16, **(DRAFTS if drafts else {}))
    pools = solve(shape, flags, memory(139.0, 110.0), switches)
    state = rank_figures(shape, flags, switches, pools)[0].state
    assert f"{state.recurrent_bytes / GIB:.2f}" == printed


def test_the_published_sizes_of_glm():
    shape, flags, pools = published_glm()
    rank = rank_figures(shape, flags, LATEST, pools)[0]
    sizes = (rank.state.conv_bytes, rank.state.recurrent_bytes, rank.kv.kv_bytes)
    assert [f"{size / GIB:.2f}" for size in sizes] == ["1.00", "28.55", "32.89"]
    assert rank.kv.k_bytes is None


def test_keys_and_values_with_the_padding_page():
    shape = gdn_shape()
    flags = resolved(page_size=64)
    pools = solve(shape, flags, memory(100.0, 60.0), LATEST)
    kv = rank_figures(shape, flags, LATEST, pools)[0].kv
    assert kv.rows == pools.kv_tokens + 64
    assert kv.k_bytes == kv.v_bytes == kv.rows * 2 * 256 * 2 * 2
    assert kv.kv_bytes == kv.k_bytes + kv.v_bytes


def test_a_windowed_model_counts_both_pools():
    shape, flags = launch("thinkingmachines/Inkling", tp_size=8, mem_fraction_static=0.9)
    pools = solve(shape, flags, memory(139.0, 100.0), LATEST)
    rank = rank_figures(shape, flags, LATEST, pools)[0]
    stage = pools.stages[0]
    assert rank.kv.kv_bytes <= stage.kv_budget_bytes * 1.01
    assert rank.kv.kv_bytes > stage.kv_budget_bytes * 0.9


@pytest.mark.parametrize("tp_size", [1, 2])
def test_context_ranks_leave_the_heads_of_a_windowed_model_alone(tp_size):
    pools, rank = figures("thinkingmachines/Inkling", {}, tp_size=tp_size, dcp_size=2)
    alone, same = figures("thinkingmachines/Inkling", {}, tp_size=tp_size)
    assert pools.kv_tokens == alone.kv_tokens
    assert rank.kv == same.kv


def test_a_model_without_states_has_no_state_sizes():
    shape = replace(gdn_shape(), state=None, state_layer_ids=())
    flags = resolved(shape)
    pools = solve(shape, flags, memory(100.0, 60.0), LATEST)
    assert rank_figures(shape, flags, LATEST, pools)[0].state is None
    names = [step.name for step in derive(flags, memory(100.0, 60.0), LATEST, pools)]
    assert "state_slots" not in names
    assert "kv_tokens" in names


@pytest.mark.parametrize(("slots", "rows"), [(100, 101), (10, 4 * 3 + 1)])
def test_a_decode_server_adds_slots_for_transfers(slots, rows):
    flags = resolved(
        max_mamba_cache_size=slots,
        max_running_requests=2,
        disaggregation_mode="decode",
        decode_extra_slots=2,
        enable_mamba_extra_buffer=True,
        disable_overlap_schedule=False,
    )
    pools = solve(gdn_shape(), flags, memory(100.0, 60.0), LATEST)
    assert pools.max_running_requests == 2
    assert state_pool_rows(flags, pools.stages[0]) == rows


def test_prefill_servers_keep_no_scratch():
    pools, rank = figures(NEXT, {**DRAFTS, "max_running_requests": 48, "disaggregation_mode": "prefill"}, tp_size=2)
    assert pools.stages[0].state.verify_bytes == 0
    assert rank.state.verify_conv_bytes is None


def steps(flags, free=None, shape=None, switches=LATEST):
    shape = shape or gdn_shape()
    free = free or memory(100.0, 60.0)
    pools = solve(shape, flags, free, switches)
    return {step.name: step for step in derive(flags, free, switches, pools)}, pools


def test_the_derivation_holds_every_figure_and_what_set_it():
    found, pools = steps(resolved(**DRAFTS, max_running_requests=48, pp_size=2, disable_overlap_schedule=True))
    assert found["rest"].value == pools.stages[0].rest_gib
    assert found["state_slots"].value == pools.state_slots
    assert found["kv_tokens"].value == pools.kv_tokens
    assert found["kv_tokens"].source == "the least over all stages, whole pages"
    assert found["max_running_requests"].value == pools.max_running_requests
    assert found["verify_scratch"].value == pools.stages[0].state.verify_bytes
    assert found["pp_max_micro_batch_size"].value == max(pools.max_running_requests // 2, 1)
    assert "kv_bytes_per_token[1]" in found
    assert all(step.source and step.unit for step in found.values())


@pytest.mark.parametrize(
    ("changes", "name", "source"),
    [
        ({"max_mamba_cache_size": 50}, "state_slots", "--max-mamba-cache-size"),
        ({"disable_radix_cache": True, "max_running_requests": 7}, "state_slots", "--disable-radix-cache"),
        ({"disable_radix_cache": True, "max_running_requests": 7}, "slots_per_request", "no radix cache"),
        ({"max_mamba_cache_size": 50}, "max_running_requests", "capped by the state pool"),
        ({"max_running_requests": 2}, "max_running_requests", "the request limit"),
        ({"max_total_tokens": 100}, "kv_tokens", "--max-total-tokens"),
        ({"max_total_tokens": 10}, "max_running_requests", "capped by KV rows"),
        ({"mm_reservation_gib": 0.1}, "multimodal_reserve", "images"),
        ({"skip_decode_lock": True}, "slots_per_request", "not locked"),
        ({"dcp_size": 2, "attn_tp_size": 2, "tp_size": 2}, "logical_tokens", "2 ranks"),
    ],
)
def test_what_set_a_figure_is_named(changes, name, source):
    found, _ = steps(resolved(**changes))
    assert source in found[name].source
