"""Draws, generated shared prefixes and parameters given as text."""

import json

import numpy as np
import pytest

from poolsplit.errors import TraceFormatError, UsageError
from poolsplit.traces.draws import Draws, geometric_quantile, lognormal_quantile, poisson_quantile
from poolsplit.traces.synthetic import parameters_of, synthesise
from trace_samples import kept_tokens, read, written


def test_quantiles_have_the_wanted_moments():
    shares = (np.arange(4000) + 0.5) / 4000
    assert np.mean([poisson_quantile(u, 5.3) for u in shares]) == pytest.approx(5.3, rel=0.01)
    assert np.mean([geometric_quantile(u, 20) for u in shares]) == pytest.approx(20, rel=0.02)
    assert np.median([lognormal_quantile(u, 3500, 0.5) for u in shares]) == pytest.approx(3500, rel=0.01)
    assert poisson_quantile(0.5, 0.0) == 0
    assert geometric_quantile(0.9, 1) == 1


def test_even_draws_fill_their_space():
    draws = Draws(1)
    points = np.array([draws.even_triple(k) for k in range(400)])
    for axis in range(3):
        counts, _ = np.histogram(points[:, axis], bins=10, range=(0, 1))
        assert counts.min() >= 34
    assert np.corrcoef(points.T)[0, 1] == pytest.approx(0, abs=0.1)


def _shared_prefix(tmp_path, **arguments):
    content = json.dumps({"gsp_num_groups": 8, "gsp_prompts_per_group": 50, **arguments}).encode()
    return read(written(tmp_path, "gsp", content))


def test_groups_share_their_system_prompt(tmp_path):
    trace = _shared_prefix(tmp_path)
    assert len(trace) == 400
    assert (trace.input_tokens == 2048 + 128).all()
    assert sorted(set(kept_tokens(trace))) == [0, 2048]
    assert kept_tokens(trace).count(0) == 8


def test_zipf_prefers_the_first_groups(tmp_path):
    even = _shared_prefix(tmp_path)
    steep = _shared_prefix(tmp_path, gsp_group_distribution="zipf", gsp_zipf_alpha=3.0)
    assert kept_tokens(steep).count(0) < kept_tokens(even).count(0)
    assert steep.origin.dialect == "zipf"


def test_turns_go_on_behind_everything_said(tmp_path):
    trace = _shared_prefix(tmp_path, gsp_num_turns=3, gsp_output_len=10)
    assert trace.sessions == 400
    assert trace.input_tokens[:3].tolist() == [2176, 2176 + 10 + 128, 2176 + 2 * 138]
    assert kept_tokens(trace)[1:3] == [2176, 2314]
    assert trace.after[:3].tolist() == [-1, 0, 1]


def test_lengths_are_drawn_from_their_range(tmp_path):
    trace = _shared_prefix(tmp_path, gsp_range_ratio=0.5)
    assert 1024 + 64 <= trace.input_tokens.min() < trace.input_tokens.max() <= 2048 + 128
    assert 128 <= trace.output_tokens.min() < trace.output_tokens.max() <= 256


NO_ARGUMENTS = [
    {"gsp_num_groups": 0},
    {"gsp_range_ratio": 2},
    {"gsp_group_distribution": "zipf"},
    {"gsp_zipf_alpha": 1.0},
    {"gsp_num_turns": "x"},
    {"gsp_question_len": 10**20},
    {"gsp_num_groups": 10**6, "gsp_prompts_per_group": 10**6},
]


@pytest.mark.parametrize("arguments", NO_ARGUMENTS)
def test_arguments_that_are_none(tmp_path, arguments):
    with pytest.raises(TraceFormatError):
        _shared_prefix(tmp_path, **arguments)


def test_every_parameter_is_explained():
    for preset in ("chat", "agent", "rag", "mixed"):
        steps = parameters_of(preset, seed=1, parameters={})
        assert all(step["source"] for step in steps), preset
        assert {step["name"] for step in steps} >= {"seed", "requests", "block_tokens", "span_s"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"breaks": "1"}, "no parameter"),
        ({"requests": "many"}, "expected"),
        ({"requests": "0"}, "expected"),
        ({"break_fraction": "1.5"}, "expected"),
        ({"growth_median_tokens": "inf"}, "expected"),
        ({"output_sigma": "nan"}, "expected"),
    ],
)
def test_parameters_that_are_none(parameters, message):
    with pytest.raises(UsageError, match=message) as caught:
        synthesise("agent", seed=1, parameters=parameters)
    assert caught.value.hint


def test_counts_may_be_short():
    _, workload = synthesise(
        "agent", seed=1, parameters={"requests": "50", "system_tokens": "4k", "think_cap_s": "inf"}
    )
    assert workload.system_tokens == 4096
    assert workload.think_cap_s == float("inf")


def test_an_unknown_preset():
    with pytest.raises(UsageError, match="no preset"):
        synthesise("weather", seed=1, parameters={})


def test_shares_of_a_mixture_must_fit():
    with pytest.raises(Exception, match="exceed 1"):
        synthesise("mixed", seed=1, parameters={"requests": "100", "chat_fraction": "0.8", "rag_fraction": "0.5"})
    trace, _ = synthesise("mixed", seed=1, parameters={"requests": "100", "chat_fraction": "1", "rag_fraction": "0"})
    assert len(trace) == 100
