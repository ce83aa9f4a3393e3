"""The fast kernel equals the plain reference, and neither ever loses a token, a slot or a lock."""

from hypothesis import given

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from poolsplit.replay.reference.live import arrive
from poolsplit.replay.reference.scheduler import Scheduler
from poolsplit.units import align_up
from replay_cases import SLOW, configs, outcome, workloads


@SLOW
@given(configs(), workloads())
def test_kernel_and_reference_decide_alike(config, workload):
    fast = outcome(replay, config, workload, notes_freed=True)
    assert fast == outcome(replay_reference, config, workload)


@SLOW
@given(configs(), workloads())
def test_both_pools_add_up_after_every_iteration(config, workload):
    server = Scheduler(config)
    lives = [arrive(request, config) for request in workload.requests]
    fitting = [live for live in lives if live.prompt < config.request_limit_tokens - 5]
    server.waiting += fitting
    pools = server.cache.pools
    for _ in range(400):
        try:
            server.iterate()
        except InfeasiblePlanError:
            return
        private = sum(
            align_up(live.committed, config.page_tokens) - live.protected
            for live in fitting
            if live.lock is not None and live.committed
        )
        slots = sum(live.tracking + live.holds_slot for live in fitting)
        assert pools.kv_free + pools.kv_evictable + pools.kv_protected + private == config.kv_capacity_tokens
        assert pools.state_free + pools.state_evictable + pools.state_protected + slots == config.state_slots
        nodes = list(server.cache.tree.nodes())
        assert pools.kv_evictable + pools.kv_protected == sum(node.length for node in nodes)
        assert pools.state_evictable + pools.state_protected == sum(node.has_state for node in nodes)


@SLOW
@given(configs(), workloads())
def test_a_drained_server_holds_only_cache(config, workload):
    result = outcome(replay, config, workload)
    if isinstance(result, str) or any(record.outcome in {"stuck", "not_run"} for record in result.records):
        return
    last = max((r for r in result.records if r.occupancy), key=lambda r: r.done_step, default=None)
    if last is not None:
        held = last.occupancy
        assert held.kv_protected == held.state_protected == 0
        assert held.kv_free + held.kv_evictable == config.kv_capacity_tokens
        assert held.state_free + held.state_evictable == config.state_slots
