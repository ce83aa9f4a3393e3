"""Weka sessions: two clocks of subagents, two scopes of ids, shared system prompts."""

import copy

import pytest

from poolsplit.errors import TraceFormatError
from trace_samples import WEKA_SESSION, jsonl, kept_tokens, read, written


def _session(name, **changes):
    return {**copy.deepcopy(WEKA_SESSION), "id": name, **changes}


def _absolute(name):
    """The same session with inner times counted from the session's start, and the entry at its subagent's start."""
    session = _session(name)
    session["requests"][2]["t"] = 6.5
    for inner in session["requests"][2]["requests"]:
        inner["t"] += 6.5
    return session


def _read(tmp_path, *sessions, **options):
    return read(written(tmp_path, "trace", jsonl(*sessions)), **options)


def test_both_clocks_give_the_same_trace(tmp_path):
    relative, absolute = _read(tmp_path, _session("a")), _read(tmp_path, _absolute("a"))
    assert (relative.origin.dialect, absolute.origin.dialect) == ("relative", "absolute")
    assert relative.arrival_s.tolist() == absolute.arrival_s.tolist() == [0.0, 5.0, 6.5, 8.5, 20.0]
    assert relative.agent.tolist() == [0, 0, 1, 1, 0]
    assert relative.after.tolist() == absolute.after.tolist() == [-1, 0, 1, 2, 3]
    assert relative.previous.tolist() == [-1, 0, -1, 2, 1]


def test_a_turn_waits_for_completed_subagents_only(tmp_path):
    launched = _session("a")
    launched["requests"][2]["status"] = "async_launched"
    trace = _read(tmp_path, launched)
    assert trace.after.tolist() == [-1, 0, 1, 2, 1]
    assert trace.think_s[4] == 14.0


def test_a_subagent_inside_a_subagent_has_a_line_of_its_own(tmp_path):
    session = _session("a")
    outer = session["requests"][2]
    nested = {**copy.deepcopy(outer), "t": 1.5, "duration_ms": 500}
    nested["requests"] = [{**outer["requests"][0], "t": 0.25, "hash_ids": [77]}]
    outer["requests"].insert(1, nested)
    trace = _read(tmp_path, session)
    assert trace.agent.tolist() == [0, 0, 1, 2, 1, 0]
    assert trace.arrival_s.tolist() == [0.0, 5.0, 6.5, 7.75, 8.5, 20.0]


def test_think_times_are_recorded_or_follow_from_the_clock(tmp_path):
    trace = _read(tmp_path, _session("a"))
    assert trace.think_s[1:].tolist() == [4.0, 0.5, 1.0, 10.5]
    assert trace.service_s.tolist() == [1.0] * 5


def test_corpora_of_two_clocks_are_not_mixed(tmp_path):
    with pytest.raises(TraceFormatError, match="from their own"):
        _read(tmp_path, _session("a"), _absolute("b"))
    forced = _read(tmp_path, _session("a"), _absolute("b"), dialect="absolute")
    assert forced.arrival_s.tolist()[5:] == [0.0, 5.0, 6.5, 8.5, 20.0]


def test_a_clock_that_cannot_be_told_is_asked_for(tmp_path):
    unclear = _session("b")
    entry = unclear["requests"][2]
    entry["t"], entry["duration_ms"] = 1.0, 60_000
    for inner in entry["requests"]:
        inner["t"] += 2
    assert _read(tmp_path, unclear).origin.dialect == "absolute"
    with pytest.raises(TraceFormatError, match="cannot be told"):
        _read(tmp_path, unclear, _session("a"))
    assert _read(tmp_path, unclear, _session("a"), dialect="relative").origin.dialect == "relative"


@pytest.mark.parametrize("change", [{"block_size": 32, "requests": []}, {"hash_id_scope": "global"}])
def test_corpora_of_two_kinds_are_not_mixed(tmp_path, change):
    with pytest.raises(TraceFormatError, match="tokens with"):
        _read(tmp_path, _session("a"), _session("b", **change))


def test_a_folder_of_pretty_sessions_is_one_trace(tmp_path):
    import json

    folder = tmp_path / "sessions"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.json").write_text(json.dumps(_session(name), indent=2))
    (folder / "index.csv").write_text("file\n")
    trace = read(folder)
    assert trace.session_names == ("a", "b")
    assert kept_tokens(trace) == [0, 128, 0, 64, 192] * 2
    assert any("were not read: 1" in note for note in trace.origin.notes)


def test_equally_long_system_prompts_are_shared_when_asked(tmp_path):
    sessions = [_session("a"), _session("b"), _session("c", system_tokens=128)]
    trace = _read(tmp_path, *sessions, share_system=True)
    assert kept_tokens(trace) == [0, 128, 0, 64, 192, 128, 128, 64, 64, 192, 0, 128, 64, 64, 192]
    assert trace.scope.tolist() == [0] * 15
    assert any("upper bound" in note for note in trace.origin.notes)


def test_a_partial_last_block_may_be_listed_or_not(tmp_path):
    session = _session("a")
    session["requests"] = session["requests"][:2]
    session["requests"][0]["hash_ids"] = [1, 2, 77]
    assert kept_tokens(_read(tmp_path, session)) == [0, 128]
    session["requests"][0]["hash_ids"] = [1, 2, 77, 78]
    with pytest.raises(TraceFormatError, match="4 ids do not cover 130 tokens"):
        _read(tmp_path, session)


def test_a_request_of_a_new_kind_is_refused(tmp_path):
    session = _session("a")
    session["requests"][1]["type"] = "x"
    with pytest.raises(TraceFormatError) as caught:
        _read(tmp_path, session)
    assert "$.requests[1].type" in caught.value.where
