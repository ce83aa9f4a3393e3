"""Published figures of stages, speculation, replay, roles and releases."""

import pytest

from plan_cases import KIMI_K3, QWEN_NEXT, deployment, traffic
from poolsplit.planning.balance import closed_form_ratio, effective_ratio
from poolsplit.planning.figures import stage_figures
from poolsplit.planning.outcome import evaluate

EAGLE_8 = (
    "--speculative-algorithm EAGLE --speculative-num-steps 7 --speculative-eagle-topk 1 "
    "--speculative-num-draft-tokens 8"
)


def test_the_default_request_cap_leaves_scratch_to_kv():
    solved = deployment(QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE", 46.8663).solve({})
    assert (solved.pools.state_slots, solved.pools.kv_tokens, solved.request_cap) == (340, 2_406_911, 48)
    assert effective_ratio(solved) == pytest.approx(0.7014, abs=5e-5)


def test_the_request_cap_that_spends_the_scratch():
    fitting = deployment(QWEN_NEXT, "--tp 2 --speculative-algorithm EAGLE --max-running-requests 68", 46.8663).solve({})
    assert fitting.pools.state_slots == 340
    assert effective_ratio(fitting) == pytest.approx(0.9, abs=0.005)


@pytest.mark.parametrize(("version", "slots"), [("0.5.21", 113), ("0.5.22", 349), ("0.5.23", 349)])
def test_a_prefill_server_pays_no_verify_scratch_any_more(version, slots):
    flags = (
        "--tp 8 --kv-cache-dtype fp8_e4m3 --disaggregation-mode prefill --disable-overlap-schedule "
        f"--mamba-radix-cache-strategy extra_buffer {EAGLE_8}"
    )
    kimi = deployment(KIMI_K3, flags, 28.53, version=version)
    solved = kimi.solve(kimi.ratio_changes(1.8))
    assert solved.pools.state.charged_bytes_per_slot == 56_171_520
    assert solved.pools.slots_per_request == 4
    assert solved.pools.state_slots == slots


def test_replayed_verification_has_no_draft_states_in_the_balance():
    words = {"slots_per_request": 5, "token_equiv": 1000.0, "tokens_per_request": 5000.0}
    wrong, right = closed_form_ratio(draft_states=8, **words), closed_form_ratio(draft_states=0, **words)
    assert (wrong, right) == (2.6, 1.0)
    kv_wrong, kv_right = 1 / (1 + wrong), 1 / (1 + right)
    assert kv_wrong == pytest.approx(1 / 3.6)
    assert kv_right == 1 / 2
    assert 1 - kv_wrong / kv_right == pytest.approx(0.44, abs=0.005)


def test_the_solver_agrees_that_replay_has_none():
    flags = "--tp 2 --speculative-algorithm EAGLE --enable-linear-replayssm-spec --max-running-requests 400"
    solved = deployment(QWEN_NEXT, flags, 46.8663).solve({})
    assert solved.pools.draft_states == 4
    assert solved.balance_draft_states == 0


def test_stages_of_kimi():
    kimi = deployment(KIMI_K3, "--pp-size 8", 40.0)
    stages = stage_figures(kimi.solve({}))
    assert [stage.state_layers for stage in stages] == [9, 8, 8, 9, 9, 9, 9, 8]
    assert sum(stage.layers for stage in stages) == 93
    assert sum(stage.kv_layers for stage in stages) == 24
    assert all(stage.idle_bytes >= 0 for stage in stages)
    assert {pool for stage in stages for pool in stage.binds} == {"state", "kv"}
    narrow = [stage for stage in stages if stage.state_layers == 8]
    assert all(stage.idle_bytes > 0 for stage in narrow)


@pytest.mark.parametrize(("version", "charged_layers"), [("0.5.16", 36), ("0.5.17", 8), ("0.5.23", 8)])
def test_a_stage_shows_what_it_allocates_and_not_what_it_is_charged(version, charged_layers):
    solution = deployment(QWEN_NEXT, "--pp-size 5", 66.0, version=version).solve({})
    state, slot_bytes = solution.pools.stages[0].state, solution.pools.state.bytes_per_slot // 36
    for stage in stage_figures(solution):
        assert stage.state_bytes == pytest.approx(solution.charged_slots * stage.state_layers * slot_bytes, rel=1e-6)
        assert stage.state_bytes == state.pool_bytes * stage.state_layers // charged_layers
        assert stage.idle_bytes >= state.pool_bytes - stage.state_bytes


@pytest.mark.parametrize("budget_gib", [11.53, 11.55, 11.57])
def test_kimi_in_eight_stages_before_and_after(budget_gib):
    """The state's share is what was published; the ratio 1 and twice the bytes hand it over."""
    now = deployment(KIMI_K3, "--pp-size 8 --mamba-full-memory-ratio 1.0", 2 * budget_gib).solve({})
    assert (now.pools.state_slots, now.pools.max_running_requests) == (210, 52)


def test_kimi_by_the_whole_model_s_price():
    """0.5.16 does not read Kimi-K3, so its rules answer for the same bytes: 27 slots and 6 requests."""
    solved = deployment(KIMI_K3, "--pp-size 8", 40.0).solve({})
    whole = solved.pools.state.bytes_per_slot
    for budget_gib in (11.53, 11.55, 11.57):
        slots = int(budget_gib * 2**30 // whole)
        assert (slots, slots // 4) == (27, 6)


def test_context_parallel_rows_are_counted_over_the_group():
    kimi = deployment(KIMI_K3, "--tp 8 --dcp-size 8", 28.9)
    outcome = evaluate(kimi, traffic(9216), {})
    pools = outcome.solution.pools
    assert pools.logical_tokens == 8 * pools.kv_tokens
    assert outcome.kv_requests == pools.logical_tokens // (9216 // 512 * 512)
