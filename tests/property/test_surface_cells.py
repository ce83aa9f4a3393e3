"""On small random traces, every replayed cell of a surface is what the exact replay says of it alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.answers.surfaces.answer import refined, surface_stages
from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.ordered.order import Timing
from poolsplit.surface.line import HARDLY, Budget
from request_rows import random_rows, spelled_out
from surface_traces import trace_of

SERVER = {"state_chunk_tokens": 4, "chunk_tokens": 64, "track_interval_tokens": 8}


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(20, 50), price=st.sampled_from([20, 100]))
def test_replayed_cells_are_replays(seed, count, price):
    rows = random_rows(np.random.default_rng(seed), count)
    ground = ground_of(trace_of(rows), version="0.5.23", server=SERVER, timing=Timing())
    budget = Budget(total_bytes=2500 + 30 * price, state_bytes=price, kv_bytes=1.0)
    *_, answer = surface_stages(ground, budget)
    answer = next(refined(answer), answer)
    workload, checked = spelled_out(ground.tree), 0
    longest = int((ground.tree.prompt + ground.tree.output).max())
    for row, methods in enumerate(answer.surface.method):
        for column, method in enumerate(methods):
            cached, split = answer.surface.cached_tokens[row][column], answer.surface.split(row, column)
            config = ReplayConfig(
                rules=ground.config.rules,
                state_slots=split.state_slots,
                kv_tokens=split.kv_tokens,
                max_running_requests=1,
                **SERVER,
            )
            if method != "replay" or cached is None or split.kv_tokens < longest + 64:
                continue
            records = replay(config, workload).records
            assert cached == sum(record.admissions[0].prefix for record in records)
            checked += 1
    assert checked >= 1
    assert answer.line is not None
    met = [ground.replays.recomputed(s) for s in answer.line.splits if s in ground.replays.known]
    assert min(met) <= answer.line.recomputed_tokens <= (1 + HARDLY) * answer.line.least_recomputed_tokens
