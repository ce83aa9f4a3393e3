"""Every finding: when it is told, with which figures and flags, and when it is not."""

from dataclasses import replace

import pytest

from live_looks import Looks, finding, ids, judge
from live_server import Engine
from poolsplit.live.constants import PoolConstants
from poolsplit.live.expected import Expected, SessionNeed
from poolsplit.live.findings import RULES

CONSTANTS = PoolConstants(
    state_bytes_per_slot=76_972_032, kv_bytes_per_token=32_768, slots_per_request=5, origin="plan"
)
PLAN = Expected(origin="plan", constants=CONSTANTS, request_tokens=8192.0, reuse_limit=0.8)


def with_plan(**changes):
    expected = replace(PLAN, **changes)
    return {"expect": lambda _facts: expected}


QUIET = {"queued": 0, "running": 4, "state": (20, 40, 40), "requested": 20}


def test_a_quiet_server_as_planned_has_no_findings():
    engine = Engine(**QUIET)
    assert ids(judge(engine, computed=40_000, cached=60_000, **with_plan(constants=None))) == set()


def test_every_rule_has_a_name_of_its_own():
    assert len({rule.__name__ for rule in RULES}) == len(RULES)


def test_state_bound_with_idle_kv_names_the_ratio():
    judged = judge(Engine(), **with_plan())
    found = finding(judged, "state_bound_kv_idle")
    assert "75%" in found.text
    assert found.flags[0].startswith("--mamba-full-memory-ratio ")


@pytest.mark.parametrize(
    "changes",
    [
        {"queued": 0},
        {"kv": (600_000, 100_000, 300_000)},
        {"state": (50, 25, 25), "running": 10},
        {"info": {"enable_unified_memory": True}},
    ],
    ids=["nothing waits", "KV is busy", "slots are free", "one buffer"],
)
def test_state_bound_is_not_told_when(changes):
    assert "state_bound_kv_idle" not in ids(judge(Engine(**changes), **with_plan()))


def test_kv_bound_with_idle_slots():
    engine = Engine(state=(20, 40, 40), kv=(980_000, 10_000, 10_000), running=5, live_context=900_000)
    found = finding(judge(engine), "kv_bound_state_idle")
    assert "80%" in found.text
    assert "slots in use 20 of 100, 40 keep checkpoints" in found.evidence


def test_kv_bound_is_not_told_when_slots_are_busy():
    engine = Engine(state=(80, 10, 10), kv=(980_000, 10_000, 10_000), running=5)
    assert "kv_bound_state_idle" not in ids(judge(engine))


def test_granted_below_requested_names_the_pool():
    found = finding(judge(Engine()), "granted_below_requested")
    assert found.text == "a worker admits 20 requests, not the 64 asked for: its state slots do not hold more"


def test_granted_below_requested_is_per_worker():
    engine = Engine(dp_ranks=(0, 1), dp_labels=True, requested=40)
    assert "granted_below_requested" not in ids(judge(engine))


def test_granted_by_kv_rows_is_told_apart():
    engine = Engine(kv=(10, 20, 10), granted=20, state=(20, 40, 140), requested=64)
    assert "KV rows" in finding(judge(engine), "granted_below_requested").text


def test_the_ratio_of_the_measured_length_and_its_gain():
    engine = Engine(state=(97, 1, 2), live_context=20 * 30_000)
    judged = judge(engine, **with_plan())
    found = finding(judged, "ratio_for_measured_length")
    fit = judged.case.fit
    assert f"{fit.running_requests} of them at once, {fit.gain_requests} more" in found.text
    assert found.flags[0] == f"--mamba-full-memory-ratio {fit.state_to_kv_ratio:.4f}"
    assert fit.running_requests > fit.now_running_requests


@pytest.mark.parametrize(("finished", "told"), [(1, False), (9, False), (10, True)])
def test_a_ratio_rests_on_enough_finished_requests(finished, told):
    judged = judge(Engine(live_context=20 * 30_000), finished=finished, **with_plan())
    assert ("ratio_for_measured_length" in ids(judged)) == told
    if told:
        assert "length of 20 finished requests" in finding(judged, "ratio_for_measured_length").evidence[0]


def test_a_gain_beyond_the_launchs_limit_names_that_limit_too():
    found = finding(judge(Engine(requested=20), **with_plan()), "ratio_for_measured_length")
    assert found.flags[1].startswith("--max-running-requests ")


def test_without_constants_no_ratio_is_made_up():
    judged = judge(Engine())
    assert judged.case.fit is None
    assert "ratio_for_measured_length" not in ids(judged)
    assert "no embedded model" in judged.expected.constants_reason


def test_slots_reserved_but_not_held():
    engine = Engine(state=(80, 15, 5), running=20)
    found = finding(judge(engine), "slots_reserved_not_held")
    assert "reserves 5 slots a request, running ones hold 4.0: 20 slots" in found.text
    assert found.flags == ("--mamba-radix-cache-strategy extra_buffer_lazy",)


def test_slots_held_in_full_are_no_finding():
    assert "slots_reserved_not_held" not in ids(judge(Engine(state=(99, 1, 0))))


def test_a_retraction_storm_names_the_limit_that_fits():
    watched = Looks()
    engine = Engine(live_context=20 * 50_000)
    watched(engine)
    engine.serve(computed=60_000, finished=20, length=62_500)
    engine.add("num_retracted_requests_total", 5)
    engine.add("num_retracted_input_tokens_total", 5000)
    engine.add("num_retracted_output_tokens_total", 500)
    found = finding(watched(engine).judged[0], "retraction_storm")
    assert found.text.startswith("5 requests were retracted while 20 finished")
    assert "5,500 tokens thrown back" in found.evidence
    assert found.flags == ("--max-running-requests 16",)


def test_a_storm_is_not_answered_by_taking_rows_away():
    watched = Looks(**with_plan())
    engine = Engine(live_context=20 * 5_000)
    watched(engine)
    engine.serve(computed=60_000, finished=20, length=5_000)
    engine.add("num_retracted_requests_total", 5)
    judged = watched(engine).judged[0]
    assert judged.case.fit.kv_tokens < judged.case.sizes.kv_tokens
    assert judged.case.fit_flags(towards="state") == judged.case.fit_flags() != ()
    assert finding(judged, "retraction_storm").flags == ()


def test_some_retractions_are_no_storm():
    watched = Looks()
    engine = Engine()
    watched(engine)
    engine.serve(finished=200)
    engine.add("num_retracted_requests_total", 5)
    assert "retraction_storm" not in ids(watched(engine).judged[0])


@pytest.mark.parametrize(("length", "told"), [(8192, False), (6000, False), (20_000, True), (3000, True)])
def test_traffic_that_differs_from_the_plan(length, told):
    watched = Looks(**with_plan())
    engine = Engine(**QUIET)
    watched(engine)
    engine.serve(finished=50, length=length)
    assert ("traffic_differs" in ids(watched(engine).judged[0])) is told


def test_few_requests_do_not_tell_the_traffic():
    watched = Looks(**with_plan())
    engine = Engine(**QUIET)
    watched(engine)
    engine.serve(finished=5, length=100_000)
    assert "traffic_differs" not in ids(watched(engine).judged[0])


def test_residency_lost_to_checkpoints_when_a_limit_is_given():
    engine = Engine(state=(97, 1, 2))
    found = finding(judge(engine, computed=95_000, cached=5_000, reuse_limit=0.9), "residency_lost")
    assert found.text.startswith("5% of the prompt tokens were reused, 90% repeat in the traffic: checkpoints")


def test_residency_lost_to_kv_rows():
    engine = Engine(state=(40, 30, 30), kv=(980_000, 10_000, 10_000))
    found = finding(judge(engine, computed=95_000, cached=5_000, **with_plan()), "residency_lost")
    assert "80% repeat in the planned traffic: KV rows" in found.text


def test_residency_lost_against_the_best_of_the_session():
    watched = Looks(window_s=25.0)
    engine = Engine()
    watched(engine)
    for _ in range(3):
        engine.serve(computed=20_000, cached=80_000)
        assert "residency_lost" not in ids(watched(engine).judged[0])
    for _ in range(4):
        engine.serve(computed=95_000, cached=5_000)
        judged = watched(engine).judged[0]
    assert "80% were reused earlier in this session" in finding(judged, "residency_lost").text


def test_little_traffic_or_little_to_reuse_is_no_loss():
    assert "residency_lost" not in ids(judge(Engine(), computed=900, cached=100, reuse_limit=0.9))
    assert "residency_lost" not in ids(judge(Engine(), computed=99_000, cached=1_000, reuse_limit=0.05))
    assert "residency_lost" not in ids(judge(Engine(), computed=95_000, cached=5_000))


def test_checkpoints_crowd_running_requests():
    engine = Engine(state=(98, 0, 2), running=8)
    found = finding(judge(engine), "checkpoints_crowd_requests")
    assert found.text.startswith("58 slots are held by something other than running requests")


def test_kept_checkpoints_are_not_called_idle():
    found = finding(judge(Engine(running=6, state=(30, 69, 1), kv=(970_000, 0, 30_000))), "kv_bound_state_idle")
    assert "no running one holds 70% of the slots" in found.text
    assert "slots in use 30 of 100, 69 keep checkpoints" in found.evidence


def test_without_the_running_requests_nothing_is_said_to_crowd_them():
    engine = Engine(state=(98, 0, 2), running=8)
    page = engine.page(hidden=frozenset({"num_running_reqs"}))
    judged = Looks()(engine, metrics=page).judged[0]
    assert "checkpoints_crowd_requests" not in ids(judged)
    assert judged.case.load == "4 queued, - running"


def test_evictable_checkpoints_crowd_nobody():
    assert "checkpoints_crowd_requests" not in ids(judge(Engine(state=(40, 60, 0), running=8)))


def test_requests_crowd_out_checkpoints():
    engine = Engine(state=(99, 1, 0))
    found = finding(judge(engine, computed=95_000, cached=5_000, reuse_limit=0.9), "requests_crowd_checkpoints")
    assert "hold 99% of the state slots, so 1 checkpoints are kept" in found.text


def test_low_use_of_the_state_pool_is_not_room_for_sessions():
    engine = Engine(state=(30, 68, 2), queued=0, running=6)
    found = finding(judge(engine), "slots_idle_but_kept")
    assert "30% of the state slots are in use, but only 2 are free: 68 keep checkpoints" in found.text
    assert "slots_idle_but_kept" not in ids(judge(replace(engine, state=(30, 30, 40), counters={})))


def test_host_states_too_few():
    engine = Engine(host=(10_000, 2_680_000, 565, 565), queued=0)
    found = finding(judge(engine), "host_states_few")
    assert "565 states are full while 100% of its KV rows are empty" in found.text
    assert "--hicache-ratio" in found.flags


@pytest.mark.parametrize("host", [(2_000_000, 2_680_000, 565, 565), (10_000, 2_680_000, 100, 565), (10, 100, 0, 0)])
def test_a_host_tier_in_balance_is_no_finding(host):
    assert "host_states_few" not in ids(judge(Engine(host=host)))


def test_eight_bit_checkpoints_are_not_seen():
    engine = Engine(state=(40, 0, 60), info={"enable_int8_mamba_checkpoint": True})
    assert "int8_states_unseen" in ids(judge(engine))


def test_one_buffer_is_told():
    engine = Engine(info={"enable_unified_memory": True})
    judged = judge(engine)
    assert "share one buffer" in finding(judged, "one_buffer").text


def test_the_other_side_of_a_split_deployment():
    engine = Engine(queues=(0, 0, 30, 2), running=8, queued=0)
    found = finding(judge(engine), "waits_for_the_other_side")
    assert found.text.startswith("32 requests are between prefill and decode, 8 run here")
    assert "waits_for_the_other_side" not in ids(judge(Engine(queues=(0, 0, 3, 0), running=8)))


def test_findings_come_worst_first():
    judged = judge(Engine(state=(80, 15, 5)), **with_plan())
    order = [("error", "warning", "info").index(found.severity) for found in judged.findings]
    assert order == sorted(order)
    assert len(order) > 2


def test_the_need_of_a_session_is_kept_apart():
    assert SessionNeed(tokens=10).checkpoints == 1.0
