"""A launch solved from what its log prints against the same launch solved from its model."""

from hypothesis import given, settings
from hypothesis import strategies as st

from plan_cases import QWEN_NEXT, deployment, traffic
from poolsplit.engines.sglang.measured import MeasuredDeployment, MeasuredPools
from poolsplit.errors import LaunchRefusedError
from poolsplit.planning.outcome import evaluate

FLAGS = {
    5: "",
    4: "--disable-overlap-schedule --mamba-radix-cache-strategy extra_buffer",
    3: "--disable-overlap-schedule --mamba-radix-cache-strategy no_buffer",
}


def measured_of(launch, *, request_cap):
    """What a log would print of a launch, without rounding."""
    solved = launch.solve({})
    pools = solved.pools
    return MeasuredDeployment(
        switches=launch.switches,
        measured=MeasuredPools(
            state_bytes_per_slot=pools.state.charged_bytes_per_slot,
            kv_bytes_per_token=pools.stages[0].kv_bytes_per_token,
            rest_bytes=int(pools.stages[0].rest_gib * 2**30),
            state_slots=pools.state_slots,
            kv_tokens=pools.kv_tokens,
            slots_per_request=pools.slots_per_request,
            draft_states=pools.draft_states,
            workers=1,
            dcp_size=1,
            page_tokens=1,
            context_len=pools.context_len,
            request_cap=request_cap,
            granted_requests=pools.max_running_requests,
            ratio=0.9,
            pin=None,
        ),
    )


@settings(max_examples=40, deadline=None)
@given(
    rest_gib=st.integers(8, 120),
    slots=st.sampled_from(sorted(FLAGS)),
    drafts=st.sampled_from([0, 4]),
    ratio=st.floats(0.05, 20),
    version=st.sampled_from(["0.5.16", "0.5.20", "0.5.23"]),
)
def test_the_same_split_comes_out_of_the_log_and_of_the_model(rest_gib, slots, drafts, ratio, version):
    speculation = " --speculative-algorithm EAGLE" if drafts else ""
    launch = deployment(QWEN_NEXT, f"--tp 4 {FLAGS[slots]}{speculation}", float(rest_gib), version=version)
    measured = measured_of(launch, request_cap=48 if drafts else None)
    changes = launch.ratio_changes(ratio)
    try:
        by_model = evaluate(launch, traffic(4096), changes)
    except LaunchRefusedError:
        return
    by_log = evaluate(measured, traffic(4096), changes)
    assert by_log.solution.pools.state_slots == by_model.solution.pools.state_slots
    assert abs(by_log.solution.pools.kv_tokens - by_model.solution.pools.kv_tokens) <= 1
    assert by_log.running_requests == by_model.running_requests


def test_without_changes_the_printed_pools_stand():
    launch = deployment(QWEN_NEXT, "--tp 4", 40.0)
    measured = measured_of(launch, request_cap=None)
    assert measured.solve({}).pools.state_slots == launch.solve({}).pools.state_slots
    assert measured.solve({}).pools.kv_tokens == launch.solve({}).pools.kv_tokens
