"""With a host tier, too, kernel and reference decide alike, and no pool ever loses a token or a slot."""

from hypothesis import given

from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.reference.driver import replay_reference
from poolsplit.replay.reference.live import arrive
from poolsplit.replay.reference.scheduler import Scheduler
from poolsplit.units import align_up
from replay_cases import SLOW, host_configs, outcome, workloads


@SLOW
@given(host_configs(), workloads())
def test_kernel_and_reference_decide_alike(config, workload):
    fast = outcome(replay, config, workload, notes_freed=True)
    assert fast == outcome(replay_reference, config, workload)


@SLOW
@given(host_configs(), workloads())
def test_four_pools_add_up_after_every_iteration(config, workload):
    server = Scheduler(config)
    lives = [arrive(request, config) for request in workload.requests]
    fitting = [live for live in lives if live.prompt < config.request_limit_tokens - 5]
    server.waiting += fitting
    pools, host = server.cache.pools, server.cache.evictor.host
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
        assert pools.kv_evictable + pools.kv_protected == sum(node.length for node in nodes if node.on_device)
        assert pools.state_evictable + pools.state_protected == sum(node.has_state for node in nodes)
        assert host.kv_free + sum(node.length for node in nodes if node.on_host) == config.host_kv_capacity_tokens
        assert host.state_free + sum(node.host_state for node in nodes) == config.host.state_slots
        assert all(node.on_device or node.on_host for node in nodes)
        assert not any(node.has_state and not node.on_device for node in nodes)


@SLOW
@given(host_configs(), workloads())
def test_a_drained_server_holds_no_lock_and_no_pin(config, workload):
    server = Scheduler(config)
    lives = [arrive(request, config) for request in workload.requests]
    server.waiting += [live for live in lives if live.prompt < config.request_limit_tokens - 5]
    for _ in range(3000):
        try:
            ran = server.iterate()
        except InfeasiblePlanError:
            return
        if not (ran or server.waiting or server.running or server.result_pending):
            break
    if server.waiting or server.running:
        return
    server.cache.tiers.settle()
    held = [node for node in server.cache.tree.nodes() if node.kv_locks or node.state_locks or node.kv_pins]
    assert held == []
    assert not any(node.state_pins or node.copying or node.loading for node in server.cache.tree.nodes())
    pools = server.cache.pools
    assert pools.kv_protected == pools.state_protected == 0
    assert pools.kv_free + pools.kv_evictable == config.kv_capacity_tokens
    assert pools.state_free + pools.state_evictable == config.state_slots
