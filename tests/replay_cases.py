"""Workloads for the replay's tests: figures of the real cache, and random ones."""

import json
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.golden_form import write_result
from poolsplit.replay.host_pools import WRITE_POLICIES, HostPools
from poolsplit.replay.unified import UnifiedMemory
from poolsplit.replay.workload import Request, Workload

RULES = cache_rules()
OLDEST = {"bare_node_locks": False, "lazy_lock_release": False, "grid_joins_pages": False}
"""What the releases before did not do."""
STRATEGY_FORMS = (
    ("no_buffer", False),
    ("extra_buffer", True),
    ("extra_buffer", False),
    ("extra_buffer_lazy", True),
)


SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def outcome(decide, config, workload, **options):
    """What a replay gives, or why it stops."""
    try:
        return decide(config, workload, **options)
    except InfeasiblePlanError as error:
        return error.message


def differences(row, result):
    """Names of the fields of a recorded workload that are not as recorded."""
    got = json.loads(json.dumps(write_result(result, want_freed="freed" in row)))
    fields = [
        f"{want['id']}.{field}"
        for want, have in zip(row["expect"], got["expect"], strict=True)
        for field in want
        if have.get(field) != want[field]
    ]
    return fields + (["freed"] if got.get("freed") != row.get("freed") else [])


def server(**options):
    """A server with room for everything, unless said otherwise."""
    asked = {"rules": RULES, "kv_tokens": 100_000, "state_slots": 64, **options}
    if asked.get("strategy") == "no_buffer":
        asked.setdefault("overlap", False)
    return ReplayConfig(**asked)


def request(name, *prompt, output=1, **fields):
    """A request whose prompt is given as runs; its output is its own."""
    first = 10**8 + 10**5 * abs(hash(name)) % 10**8
    return Request(id=str(name), prompt=prompt, output=((first, output),), **fields)


def one_by_one(*requests):
    """Each request is sent when the one before has ended."""
    return Workload(requests=tuple(requests))


@st.composite
def configs(draw):
    """Small servers under pressure, every option drawn."""
    strategy, overlap = draw(st.sampled_from(STRATEGY_FORMS))
    page = 1 if strategy == "no_buffer" else draw(st.sampled_from([1, 1, 4, 16]))
    skip = draw(st.booleans())
    running = draw(st.integers(1, 5))
    spare = draw(st.integers(1, 6))
    slots = 6 * running + spare
    laws = [{}, {}, {"refreshes_whole_path": True}, OLDEST]
    law = draw(st.sampled_from(laws if strategy == "no_buffer" else [*laws, {"sparse_checkpoints": True}]))
    return ReplayConfig(
        rules=replace(RULES, **law),
        strategy=strategy,
        overlap=overlap,
        page_tokens=page,
        kv_tokens=draw(st.sampled_from([192, 256, 512])),
        state_slots=slots,
        max_running_requests=running,
        state_chunk_tokens=draw(st.sampled_from([8, 16, 24])),
        chunk_tokens=draw(st.sampled_from([16, 33, 64, 512])),
        track_interval_tokens=draw(st.sampled_from([16, 32])),
        max_prefill_tokens=draw(st.sampled_from([40, 16384])),
        max_states_per_path=draw(st.sampled_from([None, None, 1, 2])),
        eviction=draw(st.sampled_from(["lru", "lfu", "slru", "fifo", "mru", "filo", "priority"])),
        order=draw(st.sampled_from(["fcfs", "lpm", "dfs-weight", "lof"])),
        conservativeness_ratio=draw(st.sampled_from([0.1, 1.0])),
        skip_decode_lock=skip,
        refresh_waiting=draw(st.booleans()),
        mixed_chunks=draw(st.booleans()),
    )


@st.composite
def host_configs(draw):
    """The same with a host tier of any size and policy."""
    host = HostPools(
        kv_tokens=draw(st.sampled_from([16, 64, 256, 1024])),
        state_slots=draw(st.sampled_from([1, 3, 10, 50])),
        write_policy=draw(st.sampled_from(WRITE_POLICIES)),
    )
    return replace(draw(configs()), host=host)


@st.composite
def unified_configs(draw):
    """The same with one buffer for both pools, a state worth few tokens or many."""
    slot_bytes, token_bytes = draw(st.sampled_from([1, 30, 100, 1000])), draw(st.sampled_from([1, 7]))
    return replace(draw(configs()), unified=UnifiedMemory(slot_bytes=slot_bytes, token_bytes=token_bytes))


@st.composite
def workloads(draw):
    """Up to a dozen requests over few token ids, so that prefixes are shared and split everywhere."""
    mode = draw(st.sampled_from(["sequential", "closed", "arrivals"]))
    at, requests = 0, []
    for index in range(draw(st.integers(1, 12))):
        at += draw(st.sampled_from([0, 0, 2, 30]))
        requests.append(_request(draw, index, at))
    return Workload(
        requests=tuple(requests), mode=mode, concurrency=draw(st.integers(1, 6)) if mode == "closed" else None
    )


def _request(draw, index, at):
    runs = draw(st.lists(st.tuples(st.sampled_from([1, 1, 200, 400]), st.integers(1, 70)), min_size=1, max_size=3))
    output = draw(st.integers(1, 60))
    stops = draw(st.booleans())
    return Request(
        id=str(index),
        prompt=tuple(runs),
        output=((10_000 + 100 * draw(st.integers(0, 3)), output),),
        stops=stops,
        max_new=draw(st.sampled_from([output, 2 * output])) if stops else None,
        ignores_stop=draw(st.booleans()),
        arrival_step=at,
    )
