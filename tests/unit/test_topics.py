"""Answered questions: one text for the command line and the docs."""

from pathlib import Path

import pytest

from plan_cases import KIMI_K3, deployment
from poolsplit import topics as package
from poolsplit.errors import InputError
from poolsplit.planning.balance import closed_form_ratio
from poolsplit.topics import ORDER, topic, topics
from poolsplit.workload.lengths import read_percentiles
from poolsplit.workload.overflow import overflow_probability
from poolsplit.workload.sessions import KeptSessions
from support import ROOT


def test_every_page_asks_and_answers():
    for page in topics():
        assert page.question.endswith("?")
        assert len(page.text) > 200
    files = {path.stem for path in Path(package.__file__).parent.glob("*.md")}
    assert files == set(ORDER)


def test_a_near_name_is_offered():
    with pytest.raises(InputError, match="no topic") as caught:
        topic("ratios")
    assert "`ratio`" in caught.value.hint


def test_the_docs_hold_the_same_text():
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    for each in topics():
        assert f"## {each.question}" in page
        assert each.text in page


def test_figures_in_the_pages_are_computed_ones():
    assert "5 with overlap" in topic("ratio").text
    words = {"slots_per_request": 4, "draft_states": 0, "token_equiv": 4080, "tokens_per_request": 9216}
    assert f"{closed_form_ratio(**words):.1f} at DCP 1" in topic("context-parallel").text
    assert f"about {closed_form_ratio(**words, dcp_size=8):.0f} at DCP 8" in topic("context-parallel").text
    kept = KeptSessions(sessions=200, tokens=1, checkpoints=1)
    assert f"need {kept.slots_needed(5, 48)} at c = 1" in topic("sessions").text
    solved = deployment(KIMI_K3, "--tp 8", 28.9).solve({})
    assert f"extra_buffer, overlap on              {solved.pools.slots_per_request}" in topic("slots").text


def test_a_plan_for_the_mean_overflows_about_every_second_time():
    mix = read_percentiles("p50=2k,p90=32k,p99=128k")
    for requests in (100, 400):
        assert 0.35 < overflow_probability(mix, requests, int(requests * mix.mean_tokens)) < 0.65
