"""The Mooncake dialects, and that they are never mixed."""

import pytest

from poolsplit.errors import TraceFormatError
from trace_samples import SAMPLES, jsonl, kept_tokens, read, written

TURNS = (
    {"session_id": "a", "timestamp": 0, "input_length": 1000, "output_length": 30, "hash_ids": [1, 2], "group_id": 4},
    {"session_id": "b", "timestamp": 5, "input_length": 600, "output_length": 20, "hash_ids": [1, 9], "group_id": 4},
    {"session_id": "a", "delay": 2000, "input_length": 100, "output_length": 40, "hash_ids": [3]},
    {"session_id": "a", "delay": 500, "input_length": 50, "output_length": 10, "hash_ids": [4]},
)


def _read(tmp_path, *rows, **options):
    return read(written(tmp_path, "trace", jsonl(*rows)), **options)


def test_increments_are_added_up_with_the_answers(tmp_path):
    trace = _read(tmp_path, *TURNS)
    assert trace.origin.dialect == "incremental"
    assert any("increments" in note for note in trace.origin.notes)
    assert trace.input_tokens.tolist() == [1000, 600, 1130, 1220]
    assert kept_tokens(trace) == [0, 512, 1000, 1130]
    assert trace.after.tolist() == [-1, -1, 0, 2]
    assert trace.session.tolist() == [0, 1, 0, 0]
    assert trace.think_s[2:].tolist() == [2.0, 0.5]
    assert trace.origin.clock == "session"


def test_the_same_rows_as_whole_prompts_are_another_trace(tmp_path):
    rows = [{**row, "input_length": len(row["hash_ids"]) * 512} for row in TURNS]
    whole = _read(tmp_path, *rows, dialect="full")
    steps = _read(tmp_path, *rows)
    assert whole.input_tokens.sum() < steps.input_tokens.sum()
    assert whole.origin.dialect == "full"
    assert whole.after.tolist() == steps.after.tolist()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_file_is_of_one_dialect(tmp_path, order):
    plain = {"timestamp": 9, "input_length": 512, "output_length": 1, "hash_ids": [5]}
    rows = [(TURNS[0], plain)[k] for k in order]
    with pytest.raises(TraceFormatError, match="another dialect") as caught:
        _read(tmp_path, *rows)
    assert caught.value.where.endswith(":2")


def test_files_of_two_dialects_are_refused(tmp_path):
    one = written(tmp_path, "one", SAMPLES["mooncake"].content)
    two = written(tmp_path, "two", jsonl(*TURNS))
    with pytest.raises(TraceFormatError, match="another dialect"):
        read(one, two)


def test_whole_prompts_in_the_clothes_of_increments_are_refused(tmp_path):
    rows = (TURNS[0], {**TURNS[2], "input_length": 1130, "hash_ids": [1, 2, 3]})
    with pytest.raises(TraceFormatError, match="whole prompt"):
        _read(tmp_path, *rows)
    assert _read(tmp_path, *rows, dialect="full").input_tokens.tolist() == [1000, 1130]
    assert _read(tmp_path, *rows, dialect="incremental").input_tokens.tolist() == [1000, 2160]


def test_a_restart_sends_a_whole_prompt_again(tmp_path):
    again = {**TURNS[2], "is_restart": True, "input_length": 700, "hash_ids": [1, 7]}
    trace = _read(tmp_path, TURNS[0], again)
    assert trace.input_tokens.tolist() == [1000, 700]
    assert kept_tokens(trace) == [0, 512]
    assert trace.after.tolist() == [-1, 0]


def test_sessions_of_two_files_are_two(tmp_path):
    paths = [written(tmp_path, name, jsonl(*TURNS)) for name in ("one", "two")]
    trace = read(*paths)
    assert trace.sessions == 4
    assert kept_tokens(trace) == [0, 512, 1000, 1130] * 2
    assert kept_tokens(read(*paths, shared_ids=True))[4:] == [1000, 600, 1000, 1130]


def test_numbers_may_be_quoted(tmp_path):
    quoted = {"timestamp": "1000", "input_length": "600", "output_length": "7", "hash_ids": ["7", "12"]}
    plain = {"timestamp": 0, "input_length": 512, "output_length": 7, "hash_ids": [7]}
    assert kept_tokens(_read(tmp_path, plain, quoted)) == [0, 512]


def test_ids_may_be_hashes_of_any_kind(tmp_path):
    rows = [
        {"timestamp": t, "input_length": 1024, "output_length": 1, "hash_ids": ids}
        for t, ids in enumerate((["9f3a", "77"], ["9f3a", "00b1"], [2**63 + 5, 2**64 - 1], [2**63 + 5, 3]))
    ]
    assert kept_tokens(_read(tmp_path, *rows)) == [0, 512, 0, 512]


@pytest.mark.parametrize(
    ("stamps", "unit", "seconds"),
    [
        ((0, 1500), None, [0.0, 1.5]),
        ((1_700_000_000, 1_700_000_003), None, [0.0, 3.0]),
        ((1_700_000_000_000, 1_700_000_003_000), None, [0.0, 3.0]),
        ((1_700_000_000_000_000_000, 1_700_000_003_000_000_000), None, [0.0, 3.0]),
        ((0, 2_000_000_000_000_000), None, [0.0, 2_000_000.0]),
        ((0, 12.5), "s", [0.0, 12.5]),
    ],
)
def test_units_of_time(tmp_path, stamps, unit, seconds):
    rows = [{"timestamp": t, "input_length": 1, "output_length": 1, "hash_ids": [k]} for k, t in enumerate(stamps)]
    trace = _read(tmp_path, *rows, time_unit=unit)
    assert trace.arrival_s.tolist() == pytest.approx(seconds)
    usual = stamps[1] == 1500
    assert any("timestamps are read in" in note for note in trace.origin.notes) is not usual


def test_rows_out_of_order_are_sorted(tmp_path):
    rows = [
        {"timestamp": t, "input_length": 1024, "output_length": 1, "hash_ids": ids}
        for t, ids in ((900, [1, 2]), (100, [1, 3]), (500, [1, 2]))
    ]
    trace = _read(tmp_path, *rows)
    assert trace.arrival_s.tolist() == [0.1, 0.5, 0.9]
    assert kept_tokens(trace) == [0, 512, 1024]


def test_rows_without_times_or_ids(tmp_path):
    row = {"input_length": 100, "output_length": 5}
    trace = _read(tmp_path, row, row)
    assert (trace.origin.clock, trace.block_tokens) == ("order", None)
    with pytest.raises(TraceFormatError, match="some rows have it"):
        _read(tmp_path, row, {**row, "timestamp": 4})
    with pytest.raises(TraceFormatError, match="some rows have it"):
        _read(tmp_path, row, {**row, "hash_ids": [4]})


def test_a_block_size_that_the_user_gives(tmp_path):
    row = {"timestamp": 0, "input_length": 100, "output_length": 5, "hash_ids": [1, 2, 3, 4, 5, 6, 7]}
    assert kept_tokens(_read(tmp_path, row, {**row, "input_length": 112}, block_tokens=16)) == [0, 112]
