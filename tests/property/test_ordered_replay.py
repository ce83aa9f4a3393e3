"""One request at a time, the ordered replay decides what the exact replay decides."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.ordered.request_tree import build_request_tree
from poolsplit.replay.ordered.run import ordered_replay
from request_rows import one_by_one, random_rows, spelled_out

STRATEGIES = {"extra_buffer": True, "no_buffer": False, "extra_buffer_lazy": True}


@st.composite
def configs(draw):
    strategy = draw(st.sampled_from(sorted(STRATEGIES)))
    page = 1 if strategy == "no_buffer" else draw(st.sampled_from([1, 1, 4, 16]))
    chunk = draw(st.sampled_from([4, 8, 16]))
    skips = draw(st.booleans())
    return ReplayConfig(
        rules=cache_rules(draw(st.sampled_from(["0.5.19", "0.5.23"]))),
        kv_tokens=draw(st.integers(2600, 6000)),
        state_slots=draw(st.integers(6, 40)),
        strategy=strategy,
        overlap=STRATEGIES[strategy] and (strategy == "extra_buffer_lazy" or draw(st.booleans())),
        page_tokens=page,
        state_chunk_tokens=chunk,
        chunk_tokens=draw(st.sampled_from([64, 128, 256, 1000])),
        track_interval_tokens=chunk * draw(st.integers(1, 4)),
        max_states_per_path=draw(st.sampled_from([None, None, 1, 3])),
        skip_decode_lock=skips,
        refresh_waiting=draw(st.booleans()),
        max_running_requests=1,
    )


def both(config, rows):
    tree = build_request_tree(rows, rows.block_tokens)
    fast = ordered_replay(config, tree, one_by_one(len(tree)))
    exact = replay(config, spelled_out(tree)).records
    return fast, exact


@settings(max_examples=60, deadline=None)
@given(config=configs(), seed=st.integers(0, 2**32 - 1), count=st.integers(1, 60))
def test_reuse_and_evictions_are_those_of_the_exact_replay(config, seed, count):
    fast, exact = both(config, random_rows(np.random.default_rng(seed), count))
    assert fast.out_of is None
    assert all(record.outcome == "done" for record in exact)
    assert fast.matched.tolist() == [record.admissions[0].prefix for record in exact]
    assert fast.kv_evicted == sum(record.kv_evicted for record in exact)
    assert fast.states_evicted == sum(record.states_evicted for record in exact)
