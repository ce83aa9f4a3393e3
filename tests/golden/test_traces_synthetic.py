"""The agent workload against its published figures, for three seeds, and the knobs that move it."""

import numpy as np
import pytest

from poolsplit.traces.info import describe, reused_tokens
from poolsplit.traces.synthetic import synthesise

REQUESTS = 98_827
MEAN_INPUT, P90_INPUT = 218_922, 549_000
REUSE_PERCENT, WITHIN_256K_PERCENT = 97.9, 69.1
CUT = 256 * 1024


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_calibrated_workload(seed):
    trace, _ = synthesise("agent", seed=seed, parameters={})
    assert len(trace) == REQUESTS
    assert trace.input_tokens.mean() == pytest.approx(MEAN_INPUT, rel=0.02)
    assert np.percentile(trace.input_tokens, 90) == pytest.approx(P90_INPUT, rel=0.03)
    assert reused_tokens(trace).sum() / trace.input_tokens.sum() * 100 == pytest.approx(REUSE_PERCENT, abs=0.3)
    within = trace.input_tokens + trace.output_tokens <= CUT
    assert within.mean() * 100 == pytest.approx(WITHIN_256K_PERCENT, abs=2)
    assert trace.output_tokens.mean() == pytest.approx(1_077, rel=0.05)
    assert 0.38 < np.count_nonzero(trace.agent) / REQUESTS < 0.46
    assert trace.scope.max() + 1 == trace.sessions


@pytest.mark.parametrize("preset", ["chat", "agent", "rag", "mixed"])
def test_one_seed_is_one_trace(preset):
    one, two, other = (synthesise(preset, seed=seed, parameters={"requests": "2000"})[0] for seed in (7, 7, 8))
    assert len(one) == 2000
    for name in ("arrival_s", "input_tokens", "output_tokens", "parent", "kept_blocks", "after", "think_s"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
    assert not np.array_equal(one.input_tokens, other.input_tokens)


def _agents(**parameters):
    return synthesise("agent", seed=5, parameters={"requests": "20000", **parameters})[0]


def test_breaks_are_the_knob_for_reuse():
    reuse = [describe(_agents(break_fraction=f))["infinite_reuse_fraction"] for f in ("0", "0.016", "0.1")]
    assert reuse[0] > reuse[1] + 0.005 > reuse[2] + 0.03


def test_without_subagents_there_are_none():
    trace = _agents(subagents_per_session="0")
    assert not trace.agent.any()
    assert (trace.after == np.where(np.diff(trace.session, prepend=-1) > 0, -1, np.arange(len(trace)) - 1)).all()


def test_think_times_are_capped_unless_told_not_to_be():
    main = _agents(subagents_per_session="0").think_s
    assert np.nanmax(main) == 10.0
    assert np.nanmedian(_agents(subagents_per_session="0", think_cap_s="inf").think_s) == pytest.approx(10, rel=0.1)
    assert np.nanmax(_agents(subagents_per_session="0", think_cap_s="inf").think_s) > 1000


def test_a_context_cut_leaves_out_what_is_longer():
    trace = _agents(context_cut_tokens=str(CUT))
    assert (trace.input_tokens + trace.output_tokens).max() <= CUT
    assert 0.55 < len(trace) / 20_000 < 0.85


def test_a_shared_prefix_is_shared_between_sessions():
    alone, shared = describe(_agents()), describe(_agents(shared_prefix="true"))
    assert alone["shared_between_sessions_fraction"] == 0.0
    assert shared["shared_between_sessions_fraction"] > 0.02
    assert shared["scope"] == "trace"
    assert shared["input_tokens"] == alone["input_tokens"]


def test_a_closed_loop_is_consistent():
    """Every request comes `think_s` after the end of the one it waits for."""
    trace = _agents()
    rows = np.flatnonzero(trace.after >= 0)
    before = trace.after[rows]
    wanted = trace.arrival_s[before] + trace.service_s[before] + trace.think_s[rows]
    assert np.allclose(trace.arrival_s[rows], wanted)
    assert (trace.arrival_s[trace.after < 0] == 0).all()


def test_at_most_five_subagents_of_a_session_run_at_once():
    trace = _agents(subagents_per_session="40", subagent_gate_fraction="0")
    for session in range(5):
        rows = np.flatnonzero((trace.session == session) & (trace.agent > 0))
        ends = trace.arrival_s[rows] + trace.service_s[rows]
        spans = [(trace.arrival_s[rows][trace.agent[rows] == k].min(), ends[trace.agent[rows] == k].max())
                 for k in np.unique(trace.agent[rows])]  # fmt: skip
        most = max(sum(start <= moment < end for start, end in spans) for moment, _ in spans)
        assert most <= 5


def test_chat_and_documents_share_their_beginnings():
    chat, _ = synthesise("chat", seed=1, parameters={"requests": "3000", "system_prompts": "1", "turns_mean": "1"})
    openings = chat.kept_blocks[1:]
    assert (openings == 800 // 64).all()
    rag, _ = synthesise("rag", seed=1, parameters={"requests": "3000", "documents": "1", "questions_mean": "1"})
    assert np.unique(rag.kept_blocks[1:]).size == 1
