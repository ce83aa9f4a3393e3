"""On small random traces, every replayed cell of a surface is what the exact replay says of it alone."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.answers.surfaces.answer import line_answer, refined, surface_stages
from poolsplit.answers.surfaces.confirm import confirmed, with_confirmed
from poolsplit.answers.surfaces.document import surface_document
from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.errors import InfeasiblePlanError
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.kernel.run import replay
from poolsplit.replay.ordered.order import Timing
from poolsplit.surface.line import HARDLY, Budget, shares
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


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), outstanding=st.sampled_from([1, 4]))
def test_no_rival_is_ahead_of_the_recommended_split(seed, outstanding):
    rows = random_rows(np.random.default_rng(seed), 60)
    ground = ground_of(trace_of(rows), version="0.5.23", server=SERVER, timing=Timing(outstanding=outstanding))
    checked = 0
    for price, tokens in product((20, 60, 100), (2000, 3000, 4500)):
        budget = Budget(total_bytes=tokens + 30 * price, state_bytes=price, kv_bytes=1.0)
        every = [budget.split_at(share) for share in shares(400)]
        current = min(every, key=ground.replays.recomputed)
        try:
            line = line_answer(ground, budget, current=current)
        except InfeasiblePlanError:
            continue
        assert line.recomputed_tokens <= ground.replays.recomputed(line.default)
        assert line.recomputed_tokens <= ground.replays.recomputed(current)
        checked += 1
    assert checked


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_regrets_by_the_scheduler_are_never_negative(seed):
    rows = random_rows(np.random.default_rng(seed), 40)
    ground = ground_of(trace_of(rows), version="0.5.23", server=SERVER, timing=Timing(outstanding=4))
    budget = Budget(total_bytes=6000, state_bytes=60, kv_bytes=1.0)
    *_, answer = surface_stages(ground, budget, budget.split_at(0.31))
    assert answer.line is not None
    found = surface_document(with_confirmed(answer, confirmed(ground, answer.line)))
    for rival in (found["default"], found["current"]):
        assert rival["regret_fraction"] is None or rival["regret_fraction"] >= 0
        assert rival["method"] in {"replay", "scheduler"}
