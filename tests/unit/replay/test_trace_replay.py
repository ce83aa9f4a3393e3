"""The replay of a trace: its sequences, its clocks, and where reuse went."""

from dataclasses import replace

import numpy as np
import pytest

from poolsplit.errors import InputError
from poolsplit.replay import trace_run
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.kernel.trace_tables import tables_of_trace
from poolsplit.replay.kv_only import kv_only_cached_tokens
from poolsplit.replay.trace_columns import TraceColumns
from poolsplit.replay.trace_run import Pace, replay_trace
from replay_cases import RULES

RATES = {"prefill_tokens_per_s": 10_000.0, "decode_tokens_per_s": ((1, 50.0),)}


def trace(*rows, block=64, after=None, previous=None, session=None, arrival=None, think=1.0):
    """Rows of (parent, kept, new, input, output); without `previous` each row goes on with what it came after."""
    parent, kept, new, asked, given = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    count = len(rows)
    waited_for = np.full(count, -1) if after is None else np.array(after)
    return TraceColumns(
        block_tokens=block,
        parent=parent,
        kept_blocks=kept,
        new_blocks=new,
        first_block=np.cumsum(new) - new,
        input_tokens=asked,
        output_tokens=given,
        after=waited_for,
        previous=waited_for if previous is None else np.array(previous),
        session=np.arange(count) if session is None else np.array(session),
        arrival_s=np.arange(count, dtype=float) if arrival is None else np.array(arrival, float),
        think_s=np.full(count, think),
    )


def server(**options):
    return ReplayConfig(**{"rules": RULES, "kv_tokens": 100_000, "state_slots": 64, **options})


def ids(columns, row):
    """Token ids of one row's sequence, spelled out."""
    tables = tables_of_trace(server(), columns, "order")
    request = tables.requests[row]
    length, position, run, found = request["prompt"] + request["final_outputs"], 0, request["first_run"], []
    while position < length:
        found += [tables.runs[run]["origin"] + p for p in range(position, tables.runs[run]["end"])]
        position, run = tables.runs[run]["end"], run + 1
    return found


def test_a_block_id_stands_for_its_tokens():
    rows = trace((-1, 0, 3, 150, 2), (0, 2, 1, 192, 1))
    first, second = ids(rows, 0), ids(rows, 1)
    assert first[:150] == list(range(150))
    assert second[:192] == [*range(128), *range(192, 256)]
    assert len(first) == 152
    assert not set(first[150:]) & set(second)


def test_an_output_is_what_the_answering_row_sends_back():
    rows = trace((-1, 0, 2, 100, 50), (0, 1, 3, 250, 1), after=[-1, 0], session=[0, 0])
    first, second = ids(rows, 0), ids(rows, 1)
    assert first == second[:150]


def test_the_answer_comes_back_in_the_same_conversation_whoever_was_waited_for():
    """Row 1 is a subagent's; row 2 waits for it and sends back the answer of row 0."""
    rows = ((-1, 0, 2, 128, 50), (-1, 0, 1, 64, 10), (0, 2, 2, 250, 1))
    columns = trace(*rows, after=[-1, 0, 1], previous=[-1, -1, 0], session=[0, 0, 0])
    assert ids(columns, 0) == ids(columns, 2)[:178]
    assert not set(ids(columns, 1)) & set(ids(columns, 2))


def test_a_row_that_does_not_begin_with_the_prompt_sends_nothing_back():
    rows = trace((-1, 0, 4, 256, 50), (0, 1, 3, 250, 1), after=[-1, 0], session=[0, 0])
    assert not set(ids(rows, 0)[256:]) & set(ids(rows, 1))


def conversation(turns, block=64):
    """Each turn sends the whole context back and adds a block."""
    later = [(turn - 1, 4 + 2 * (turn - 1), 2, 256 + 128 * turn, block) for turn in range(1, turns)]
    return [(-1, 0, 4, 256, block), *later]


def test_in_order_a_conversation_reuses_all_but_the_tail():
    summary = replay_trace(server(), trace(*conversation(5)), Pace(clock="order"))
    assert summary.requests == 5
    assert 0 < summary.cached_tokens < summary.input_tokens
    assert summary.losses.to_state == summary.losses.to_kv == 0
    assert summary.wall_s is None


def test_a_clock_needs_rates():
    with pytest.raises(InputError, match="how fast"):
        Pace(clock="closed", sessions=2)
    with pytest.raises(InputError, match="above zero"):
        Pace(clock="closed", sessions=2, prefill_tokens_per_s=100.0, decode_tokens_per_s=((1, -1.0),))


def test_recorded_arrivals_wait_for_their_time():
    rows = trace((-1, 0, 4, 256, 1), (-1, 0, 4, 256, 1), arrival=[0.0, 100.0])
    summary = replay_trace(server(), rows, Pace(clock="recorded", **RATES))
    assert summary.wall_s == pytest.approx(100.0 + 256 / 10_000, abs=0.05)
    assert summary.running["max"] == 1


def test_a_closed_loop_thinks_between_requests():
    rows = trace(*conversation(4), after=[-1, 0, 1, 2], session=[0] * 4, think=10.0)
    summary = replay_trace(server(), rows, Pace(clock="closed", **RATES))
    assert summary.wall_s == pytest.approx(3 * 10 + 4 * 64 / 50, rel=0.05)
    assert summary.unfinished == 0


def sessions(count, turns):
    """Interleaved conversations that share nothing."""
    rows, after, of_session = [], [], []
    for session in range(count):
        begin = len(rows)
        for turn, (parent, *rest) in enumerate(conversation(turns)):
            rows.append((begin + parent if parent >= 0 else -1, *rest))
            after.append(begin + turn - 1 if turn else -1)
            of_session.append(session)
    return trace(*rows, after=after, session=of_session)


def test_the_cliff_has_its_pool_by_name():
    loop = Pace(clock="closed", sessions=8, **RATES)
    ample = replay_trace(server(), sessions(8, 12), loop)
    few_slots = replay_trace(server(state_slots=12, max_running_requests=2), sessions(8, 12), loop)
    little_kv = replay_trace(server(kv_tokens=4096), sessions(8, 12), loop)
    assert ample.cached_tokens > few_slots.cached_tokens
    assert ample.cached_tokens > little_kv.cached_tokens
    assert few_slots.losses.to_state > few_slots.losses.to_kv
    assert little_kv.losses.to_kv > little_kv.losses.to_state
    assert (few_slots.binding, little_kv.binding) == ("state", "kv")


@pytest.mark.parametrize("options", [{}, {"state_slots": 12}, {"kv_tokens": 4096}, {"max_states_per_path": 1}])
def test_reused_and_lost_add_up_to_an_endless_cache(options):
    rows = sessions(6, 10)
    endless = replay_trace(server(kv_tokens=10**6, state_slots=4096, max_running_requests=2), rows, Pace(clock="order"))
    tight = replay_trace(server(**options), rows, Pace(clock="order"))
    lost = tight.losses
    seen = tight.cached_tokens + lost.to_state + lost.to_kv + lost.to_placement + lost.to_length
    assert lost.to_kv >= 0
    assert tight.cached_tokens <= seen <= tight.input_tokens
    assert seen == endless.cached_tokens + endless.losses.to_placement + endless.losses.to_length


LEVER = {"state_slots": 40, "max_running_requests": 4, "kv_tokens": 200_000}


def test_refreshing_only_the_consumed_state_keeps_more_sessions():
    loop = Pace(clock="closed", sessions=16, **RATES)
    whole = replace(RULES, refreshes_whole_path=True)
    consumed_only = replay_trace(server(**LEVER), sessions(16, 20), loop)
    whole_path = replay_trace(server(**LEVER, rules=whole), sessions(16, 20), loop)
    assert consumed_only.cached_tokens > 1.3 * whole_path.cached_tokens
    assert whole_path.binding == "state"


def test_a_cap_on_states_a_path_keeps_more_sessions():
    loop = Pace(clock="closed", sessions=16, **RATES)
    whole = replace(RULES, refreshes_whole_path=True)
    free = replay_trace(server(**LEVER, rules=whole), sessions(16, 20), loop)
    capped = replay_trace(server(**LEVER, rules=whole, max_states_per_path=1), sessions(16, 20), loop)
    assert capped.cap_states_evicted > 0
    assert capped.cached_tokens > 1.3 * free.cached_tokens


def test_sparse_checkpoints_keep_fewer_states():
    loop = Pace(clock="order")
    every = replay_trace(server(), sessions(4, 12), loop)
    sparse = replay_trace(server(rules=replace(RULES, sparse_checkpoints=True)), sessions(4, 12), loop)
    assert sparse.state_peak < every.state_peak


def test_kv_alone_promises_more_where_states_bind_and_no_more_where_none_is_needed():
    loop = Pace(clock="closed", sessions=8, **RATES)
    tight = replay_trace(server(state_slots=12, max_running_requests=2), sessions(8, 12), loop)
    assert tight.kv_only_tokens > 2 * tight.cached_tokens
    lone = replay_trace(server(), trace(*conversation(5)), Pace(clock="order"))
    assert lone.kv_only_tokens == sum(256 + 128 * turn for turn in range(4))


def test_kv_alone_counts_admitted_requests_only():
    rows = trace((-1, 0, 4, 256, 1), (0, 4, 100, 6656, 1), (1, 4, 0, 256, 1))
    summary = replay_trace(server(kv_tokens=4096), rows, Pace(clock="order"))
    assert summary.rejected == 1
    assert (summary.input_tokens, summary.kv_only_tokens) == (512, 256)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_above_zero_and_ends(rate):
    with pytest.raises(InputError, match="above zero"):
        Pace(clock="closed", prefill_tokens_per_s=rate, decode_tokens_per_s=((1, 50.0),))
    with pytest.raises(InputError, match="above zero"):
        Pace(clock="closed", prefill_tokens_per_s=100.0, decode_tokens_per_s=((1, rate),))
    with pytest.raises(InputError, match="at least one running"):
        Pace(clock="closed", prefill_tokens_per_s=100.0, decode_tokens_per_s=((0, 50.0),))


def test_an_interrupt_while_losses_are_counted_counts_them_anew(monkeypatch):
    calls = []

    def interrupted_once(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return kv_only_cached_tokens(*arguments)

    monkeypatch.setattr(trace_run, "kv_only_cached_tokens", interrupted_once)
    rows = trace((-1, 0, 3, 150, 2), (0, 2, 1, 192, 1))
    summary = replay_trace(server(), rows, Pace(clock="order"))
    assert len(calls) == 2
    assert summary.requests == 2
    assert not summary.interrupted
