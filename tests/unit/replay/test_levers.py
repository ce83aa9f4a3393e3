"""One trace at one split under other options."""

import json

import pytest

from poolsplit import api
from poolsplit.answers.replay_request import ReplayRequest
from poolsplit.report.lever_screen import lever_screen

TURNS, SESSIONS = 8, 6


@pytest.fixture
def trace(tmp_path):
    """Interleaved conversations, each turn 1,024 tokens longer."""
    rows = [
        {"timestamp": 1000 * (turn * SESSIONS + session), "input_length": 1024 * (turn + 1), "output_length": 8,
         "hash_ids": [1000 * session + block for block in range(2 * (turn + 1))]}
        for turn in range(TURNS) for session in range(SESSIONS)
    ]  # fmt: skip
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return api.read_trace([str(file)])


def request(**server):
    options = {"state_slots": 17, "kv_tokens": 200_000, "max_running_requests": 1, "chunk_tokens": 512, **server}
    return ReplayRequest(version="0.5.23", server=options, pace={"clock": "order"})


def test_every_change_is_a_replay_of_its_own(trace):
    asked = request()
    document = api.price_levers(trace, asked, api.cache_levers(asked))
    rows = {row["name"]: row for row in document["levers"]}
    alone, _ = api.replay_trace(trace, request(max_states_per_path=1))
    capped = rows["max_states_per_path=1"]
    assert capped["cached_tokens"] == alone["cached_tokens"]
    assert capped["running"] == alone["running"]
    assert capped["flags"] == ["--mamba-max-states-per-path", "1"]
    assert capped["delta_cached_tokens"] == alone["cached_tokens"] - document["current"]["cached_tokens"] != 0
    assert "strategy=extra_buffer" not in rows
    assert all(row["status"] == "offered" for row in rows.values())


def test_a_strategy_brings_its_overlap_and_is_refused_where_it_cannot_be(trace):
    by_token = {lever.name: lever for lever in api.cache_levers(request())}
    assert by_token["strategy=no_buffer"].changes == {"strategy": "no_buffer", "overlap": False}
    paged = request(page_tokens=64)
    levers = [lever for lever in api.cache_levers(paged) if lever.name == "strategy=no_buffer"]
    (row,) = api.price_levers(trace, paged, levers)["levers"]
    assert (row["status"], "pages of one token" in row["reason"]) == ("refused", True)
    assert "refused: `no_buffer`" in lever_screen(api.price_levers(trace, paged, levers), explain=False)


def test_progress_counts_over_all_replays(trace):
    asked, seen = request(), []
    levers = api.cache_levers(asked)[:2]
    api.price_levers(trace, asked, levers, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 3 * len(trace)


def test_an_interrupt_keeps_the_whole_replays(trace):
    asked = request()
    levers = api.cache_levers(asked)

    def stop(count):
        if count > 2 * len(trace):
            raise KeyboardInterrupt

    document = api.price_levers(trace, asked, levers, stop)
    assert document["interrupted"]
    assert [row["name"] for row in document["levers"]] == [levers[0].name]
    assert any("1 of" in warning for warning in document["warnings"])
