"""Statistics of public traces: whole files beside the project, beginnings of them in it."""

import csv
import json

import numpy as np
import pytest

from poolsplit.traces.info import describe, reused_tokens
from support import GOLDEN
from trace_samples import read

SAMPLES = GOLDEN / "traces"


@pytest.fixture(scope="module")
def traces(shared):
    return shared / "traces"


def _rounded(facts, name):
    row = facts[f"{name}_tokens"]
    return [int(np.floor(row[key] + 0.5)) for key in ("mean", "p50", "p90", "max")]


PUBLISHED = {
    "mooncake-fast25/conversation_trace.jsonl.gz": (
        12_031,
        [12_035, 6_909, 27_367, 126_195],
        [343, 350, 597, 2_000],
        (37.4, 3_537),
    ),
    "mooncake-fast25/synthetic_trace.jsonl.gz": (
        3_993,
        [15_325, 11_587, 38_611, 191_378],
        [149, 69, 389, 893],
        (65.1, 1_022),
    ),
    "azure-llm-2023/AzureLLMInferenceTrace_conv.csv.gz": (
        19_366,
        [1_155, 1_020, 2_735, 14_050],
        [211, 129, 424, 1_000],
        None,
    ),
    "azure-llm-2023/AzureLLMInferenceTrace_code.csv.gz": (
        8_819,
        [2_048, 1_469, 5_188, 7_437],
        [28, 13, 55, 1_899],
        None,
    ),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_statistics(traces, name):
    requests, inputs, outputs, sharing = PUBLISHED[name]
    facts = describe(read(traces / name))
    assert facts["requests"] == requests
    assert _rounded(facts, "input") == inputs
    assert _rounded(facts, "output") == outputs
    if sharing is None:
        assert facts["infinite_reuse_fraction"] is None
        assert facts["infinite_reuse_fraction_reason"]
    else:
        assert (round(facts["infinite_reuse_fraction"] * 100, 1), round(facts["span_s"])) == sharing


@pytest.fixture(scope="module")
def sessions(traces):
    return read(traces / "cc-traces-weka-042026")


def test_coding_sessions(sessions):
    facts = describe(sessions)
    assert (facts["requests"], facts["sessions"], facts["subagent_requests"]) == (38_393, 555, 574)
    assert _rounded(facts, "input") == [121_661, 102_121, 228_557, 894_371]
    assert _rounded(facts, "output") == [441, 218, 898, 16_681]
    assert round(facts["infinite_reuse_fraction"] * 100, 1) == 96.3
    assert round(facts["session_reuse_fraction"]["p50"] * 100, 1) == 95.4
    assert int(sessions.blocks.sum()) == 72_964_531
    assert facts["dialect"] == "relative"
    assert round(facts["gap_s"]["max"]) == 77_589


def test_every_coding_session_agrees_with_its_index(sessions, traces):
    reused, inputs = (
        np.bincount(sessions.session, weights=v) for v in (reused_tokens(sessions), sessions.input_tokens)
    )
    new = np.bincount(sessions.session, weights=sessions.new_blocks)
    with (traces / "cc-traces-weka-042026" / "index.csv").open() as handle:
        rows = sorted(csv.DictReader(handle), key=lambda row: row["file"])
    assert len(rows) == sessions.sessions
    for session, row in enumerate(rows):
        assert int(row["unique_blocks_64"]) == new[session], row["file"]
        wanted = float(row["prefix_reuse_tokens_local_infinite"])
        assert reused[session] / inputs[session] == pytest.approx(wanted, abs=6e-5), row["file"]


def test_tracelab_sample(traces):
    trace = read(traces / "tracelab-example")
    assert (len(trace), trace.sessions) == (19, 2)


SMALL = json.loads((SAMPLES / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(SMALL))
def test_small_samples(name):
    facts = describe(read(SAMPLES / name))
    assert {key: facts[key] for key in SMALL[name]} == SMALL[name]
