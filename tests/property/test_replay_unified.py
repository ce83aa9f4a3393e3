"""With one buffer for both pools, too, kernel and reference decide alike, and no byte is given twice."""

from hypothesis import given

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from poolsplit.replay.reference.live import arrive
from poolsplit.replay.reference.scheduler import Scheduler
from replay_cases import SLOW, outcome, unified_configs, workloads


@SLOW
@given(unified_configs(), workloads())
def test_kernel_and_reference_decide_alike(config, workload):
    fast = outcome(replay, config, workload, notes_freed=True)
    assert fast == outcome(replay_reference, config, workload)


@SLOW
@given(unified_configs(), workloads())
def test_no_byte_is_given_twice(config, workload):
    server = Scheduler(config)
    lives = [arrive(request, config) for request in workload.requests]
    server.waiting += [live for live in lives if live.prompt < config.request_limit_tokens - 5]
    pools, buffer = server.cache.pools, config.buffer
    for _ in range(400):
        try:
            server.iterate()
        except InfeasiblePlanError:
            return
        states = config.state_capacity_slots - pools.state_free
        tokens = config.kv_capacity_tokens - pools.kv_free
        taken = states * config.unified.slot_bytes + tokens * config.unified.token_bytes
        assert 0 <= taken <= buffer.free_bytes
        assert pools.aside == 0
        held = sum(live.tracking + live.holds_slot for live in lives)
        assert states == held + pools.state_evictable + pools.state_protected
        gap = buffer.free_bytes - taken
        assert pools.kv_available * config.unified.token_bytes <= gap
        assert pools.states_available * config.unified.slot_bytes <= gap
