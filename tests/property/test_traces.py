"""Prompts as ranges agree with prompts spelled out, whatever is done to them."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolsplit.traces import compact
from poolsplit.traces.builder import Batch, TraceBuilder, nothing, unknown
from poolsplit.traces.checks import check
from poolsplit.traces.convert import TARGETS, prepare
from poolsplit.traces.info import foreign_blocks
from poolsplit.traces.join import join
from poolsplit.traces.prefix_fold import PrefixFold
from poolsplit.traces.reblock import reblock
from poolsplit.traces.reorder import take
from poolsplit.traces.shared_system import share_system_prompts
from poolsplit.traces.trace import Origin
from trace_samples import brute_force_reuse, kept_tokens, read, spelled

BLOCK = 4
prompts = st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=14)


def any_of(*strategies):
    """Hypothesis without a clock: the first call loads compiled code."""
    return lambda test: settings(deadline=None, max_examples=60)(given(*strategies)(test))


def make(lists, *, sessions=3, scoped=False, clock="trace", tails=None):
    """A trace of prompts given as lists of raw ids; the last block of a prompt is partial by its tail."""
    count = len(lists)
    rows = np.arange(count)
    session = np.unique(rows % sessions, return_inverse=True)[1]
    tails = tails or [0] * count
    lengths = [max(len(ids) * BLOCK - tail, 0) for ids, tail in zip(lists, tails, strict=False)]
    after = np.where(rows >= sessions, rows - sessions, -1)
    builder = TraceBuilder()
    builder.add(
        Batch(
            arrival_s=rows.astype(float),
            session=session,
            scope=session if scoped else np.zeros(count, dtype=np.int64),
            agent=np.zeros(count, dtype=np.int64),
            after=after,
            input_tokens=np.array(lengths, dtype=np.int64),
            output_tokens=rows + 1,
            think_s=np.where(after >= 0, rows / 8, np.nan),
            service_s=unknown(count) if clock == "trace" else rows / 4,
            ids=np.array([value for ids in lists for value in ids], dtype=np.int64),
            ends=np.cumsum([len(ids) for ids in lists]),
        )
    )
    origin = Origin(format="test", dialect="full", clock=clock, sessions_known=True)
    return check(builder.trace(origin=origin, block_tokens=BLOCK))


def folded(lists, scopes):
    """Parent, kept and new blocks by a dictionary of whole prefixes."""
    makers, result = {}, []
    for row, (ids, scope) in enumerate(zip(lists, scopes, strict=True)):
        prefixes = [(scope, *ids[: end + 1]) for end in range(len(ids))]
        kept = next((depth for depth, prefix in enumerate(prefixes) if prefix not in makers), len(ids))
        result.append((makers[prefixes[kept - 1]] if kept else -1, kept, len(ids) - kept))
        for prefix in prefixes[kept:]:
            makers[prefix] = row
    return result


@any_of(prompts, st.integers(1, 3), st.integers(1, 5))
def test_the_fold_is_a_dictionary_of_prefixes(lists, scopes, batch):
    scope = [row % scopes for row in range(len(lists))]
    fold = PrefixFold()
    for start in range(0, len(lists), batch):
        part = lists[start : start + batch]
        ids = np.array([value for values in part for value in values], dtype=np.int64)
        fold.add(ids, np.cumsum([len(v) for v in part]), np.array(scope[start : start + batch], dtype=np.int64))
    assert [tuple(row) for row in np.array(fold.result()).T.tolist()] == folded(lists, scope)


def test_the_fold_grows_over_many_blocks():
    rng = np.random.default_rng(3)
    lists = [list(range(k, k + 2000)) if k % 3 else rng.integers(0, 9, 3000).tolist() for k in range(30)]
    fold = PrefixFold()
    ids = np.array([value for values in lists for value in values], dtype=np.int64)
    fold.add(ids, np.cumsum([len(v) for v in lists]), np.zeros(len(lists), dtype=np.int64))
    assert [tuple(row) for row in np.array(fold.result()).T.tolist()] == folded(lists, [0] * len(lists))


@any_of(prompts)
def test_spelled_ids_are_equal_exactly_where_prefixes_are(lists):
    ids = spelled(make(lists))
    pairs = [(tuple(raw[: k + 1]), dense[k]) for raw, dense in zip(lists, ids, strict=True) for k in range(len(raw))]
    assert len({dense for _, dense in pairs}) == len({raw for raw, _ in pairs}) == len(set(pairs))
    assert sorted({dense for _, dense in pairs}) == list(range(len(set(pairs))))


@any_of(prompts, st.booleans())
def test_reuse_is_the_longest_prefix_of_any_earlier_prompt(lists, scoped):
    trace = make(lists, scoped=scoped)
    assert kept_tokens(trace) == brute_force_reuse(lists, trace.scope, BLOCK, trace.input_tokens.tolist())


@any_of(prompts, st.randoms(use_true_random=False), st.booleans())
def test_rows_in_another_order_are_the_same_prompts(lists, random, scoped):
    trace = make(lists, scoped=scoped, clock="session")
    order = random.sample(range(len(lists)), random.randint(1, len(lists)))
    moved = take(trace, np.array(order))
    assert [len(ids) for ids in spelled(moved)] == [len(lists[row]) for row in order]
    scope = [int(trace.scope[row]) for row in order]
    found = list(zip(moved.parent.tolist(), moved.kept_blocks.tolist(), moved.new_blocks.tolist(), strict=True))
    assert found == folded([lists[row] for row in order], scope)


@any_of(prompts)
def test_what_a_left_out_row_waited_for_is_waited_for(lists):
    trace = make(lists, sessions=1)
    kept = take(trace, np.arange(0, len(lists), 2))
    assert kept.after.tolist() == [row - 1 for row in range(len(kept))]


@any_of(prompts, st.sampled_from([1, 2, 8, 16]))
def test_other_block_sizes_share_what_tokens_share(lists, size):
    trace = make(lists)
    other = check(reblock(trace, size))
    tokens = [
        [token for block in ids for token in range(block * BLOCK, block * BLOCK + BLOCK)] for ids in spelled(trace)
    ]
    whole = [[tuple(row[: end + size]) for end in range(0, len(row) - size + 1, size)] for row in tokens]
    wanted = brute_force_reuse(whole, other.scope, size, other.input_tokens.tolist())
    assert kept_tokens(other) == wanted


@any_of(prompts)
def test_smaller_blocks_and_back_change_nothing(lists):
    trace = make(lists)
    back = reblock(reblock(trace, 1), BLOCK)
    for name in ("parent", "kept_blocks", "new_blocks"):
        assert np.array_equal(getattr(back, name), getattr(trace, name))


@any_of(prompts, st.integers(1, 4))
def test_blocks_of_other_sessions(lists, sessions):
    trace = make(lists, sessions=sessions)
    ids = spelled(trace)
    maker = {}
    for row, path in enumerate(ids):
        for block in path:
            maker.setdefault(block, int(trace.session[row]))
    wanted = [
        sum(maker[block] != trace.session[row] for block in path[: trace.kept_blocks[row]])
        for row, path in enumerate(ids)
    ]
    assert foreign_blocks(trace).tolist() == wanted


@any_of(prompts)
def test_the_compact_file_is_the_same_trace(tmp_path_factory, lists):
    trace = make(lists)
    path = tmp_path_factory.mktemp("pst") / "t.pst"
    with path.open("wb") as out:
        compact.write(trace, out)
    back = read(path)
    assert back.origin == trace.origin
    for name in ("arrival_s", "session", "parent", "kept_blocks", "new_blocks", "after", "think_s"):
        assert np.array_equal(getattr(back, name), getattr(trace, name), equal_nan=True)


KEPT_BY = {
    "mooncake": ("arrival_s", "input_tokens", "output_tokens", "kept_blocks", "new_blocks", "parent"),
    "bailian": ("arrival_s", "input_tokens", "output_tokens", "kept_blocks", "new_blocks", "session", "after"),
    "token-trace": ("arrival_s", "input_tokens", "output_tokens", "session", "after"),
    "azure": ("input_tokens", "output_tokens"),
    "burstgpt": ("arrival_s", "input_tokens", "output_tokens", "session", "after"),
}


@pytest.mark.parametrize("name", sorted(KEPT_BY))
@any_of(prompts)
def test_a_format_keeps_what_it_can_say(tmp_path_factory, name, lists):
    trace = make(lists, sessions=2)
    path = tmp_path_factory.mktemp("out") / "t"
    writer, _ = prepare(trace, name, None)
    with path.open("wb") as out:
        writer(out)
    back = read(path, format=name, block_tokens=BLOCK if TARGETS[name].blocks else None)
    for column in KEPT_BY[name]:
        assert np.allclose(getattr(back, column), getattr(trace, column)), column


@any_of(prompts)
def test_weka_keeps_everything_of_sessions_with_clocks_of_their_own(tmp_path_factory, lists):
    trace = take(
        make(lists, sessions=2, scoped=True, clock="session"), np.argsort(np.arange(len(lists)) % 2, kind="stable")
    )
    path = tmp_path_factory.mktemp("out") / "t"
    writer, lost = prepare(trace, "weka", None)
    with path.open("wb") as out:
        writer(out)
    back = read(path)
    assert lost == []
    for column in ("arrival_s", "session", "scope", "parent", "kept_blocks", "new_blocks", "after", "input_tokens"):
        assert np.array_equal(getattr(back, column), getattr(trace, column)), column
    for column in ("think_s", "service_s"):
        recorded = ~np.isnan(getattr(trace, column))
        assert np.allclose(getattr(back, column)[recorded], getattr(trace, column)[recorded])


@any_of(prompts, prompts)
def test_joined_traces_share_nothing_with_each_other(one, two):
    first, second = make(one), make(two)
    joined = check(join([first, second], "joined"))
    assert len(joined) == len(first) + len(second)
    assert sum(kept_tokens(joined)) == sum(kept_tokens(first)) + sum(kept_tokens(second))
    assert joined.sessions == first.sessions + second.sessions


@any_of(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_shared_system_prompts_are_shared_once_each(lengths):
    lists = [[session * 100 + block for block in range(length)] for session, length in enumerate(lengths)]
    trace = make(lists, sessions=len(lists), scoped=True, clock="session")
    shared = check(share_system_prompts(trace, np.full(len(lists), 2 * BLOCK)))
    long_enough = sum(length >= 2 for length in lengths)
    assert int(shared.kept_blocks.sum()) == 2 * max(long_enough - 1, 0)
    assert np.array_equal(shared.blocks, trace.blocks)


@any_of(prompts)
def test_columns_cannot_be_written(lists):
    trace = make(lists)
    with pytest.raises(ValueError, match="read-only"):
        trace.parent[0] = 0
    assert nothing(1).flags.writeable
    assert replace(trace, block_tokens=BLOCK) is not trace


def test_equal_traces_are_equal_bytes():
    one, two = io.BytesIO(), io.BytesIO()
    compact.write(make([[1, 2], [1, 3]]), one)
    compact.write(make([[1, 2], [1, 3]]), two)
    assert one.getvalue() == two.getvalue()
