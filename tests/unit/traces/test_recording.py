"""Recording: hashes that only the salt can make, lengths from the answers, and no text anywhere."""

import json

import numpy as np
import pytest

from poolsplit.errors import InputError, MissingExtraError, TraceFormatError
from poolsplit.traces.answers import record, recording_trace, recording_writer
from poolsplit.traces.chat_log import BadRowError, chat_request
from poolsplit.traces.text_blocks import TextCutter, load_tokenizer
from trace_samples import jsonl, kept_tokens, read, written

SALT = b"0123456789abcdef"
WORDS = "the launch code is swordfish "


def _messages(*texts):
    roles = ("system", "user", "assistant")
    return [{"role": roles[min(k, 1) + k % 2 * (k > 1)], "content": text} for k, text in enumerate(texts)]


def _log(*prompts):
    return jsonl(*(
        {"request": {"messages": _messages(*texts), "metadata": {"session_id": "ann@example.org"}},
         "response": {"usage": {"prompt_tokens": tokens, "completion_tokens": 7}},
         "start_time": 1_700_000_000 + k, "end_time": 1_700_000_000.5 + k}
        for k, (tokens, texts) in enumerate(prompts)
    ))  # fmt: skip


def _record(tmp_path, content, salt=SALT, **options):
    recording, faults = record([str(written(tmp_path, "log", content))], salt=salt, options=options, skip_bad=False)
    return recording, faults


PROMPTS = ((256, [WORDS * 20, "hello " * 74]), (512, [WORDS * 20, "hello " * 74, "hi " * 100, WORDS * 24]))


def test_a_log_becomes_lengths_times_and_shared_blocks(tmp_path):
    recording, faults = _record(tmp_path, _log(*PROMPTS))
    trace = recording_trace(recording, faults)
    assert trace.input_tokens.tolist() == [256, 512]
    assert trace.output_tokens.tolist() == [7, 7]
    assert trace.arrival_s.tolist() == [0.0, 1.0]
    assert trace.service_s.tolist() == [0.5, 0.5]
    assert trace.think_s[1] == 0.5
    assert trace.blocks.tolist() == [4, 8]
    assert kept_tokens(trace)[1] >= 192
    assert trace.origin.lengths == "exact"


def test_no_text_and_no_name_reaches_the_file(tmp_path):
    recording, faults = _record(tmp_path, _log(*PROMPTS))
    written_lines = tmp_path / "out.jsonl"
    with written_lines.open("wb") as out:
        recording_writer(recording)(out)
    everything = written_lines.read_text() + repr(recording) + repr(recording_trace(recording, faults))
    for word in ("swordfish", "hello", "ann@", SALT.decode()):
        assert word not in everything
    assert set(json.loads(written_lines.read_text().splitlines()[0])) == {
        "timestamp",
        "input_length",
        "output_length",
        "hash_ids",
    }


def test_the_written_file_is_the_same_trace(tmp_path):
    recording, faults = _record(tmp_path, _log(*PROMPTS))
    path = tmp_path / "out.jsonl"
    with path.open("wb") as out:
        recording_writer(recording)(out)
    assert kept_tokens(read(path, block_tokens=64)) == kept_tokens(recording_trace(recording, faults))


def test_the_salt_decides_the_hashes(tmp_path):
    one, _ = _record(tmp_path, _log(*PROMPTS))
    same, _ = _record(tmp_path, _log(*PROMPTS))
    other, _ = _record(tmp_path, _log(*PROMPTS), salt=SALT[::-1])
    assert np.array_equal(one.requests[0].hashes, same.requests[0].hashes)
    assert not set(one.requests[0].hashes.tolist()) & set(other.requests[0].hashes.tolist())
    assert one.requests[0].session != other.requests[0].session


def test_a_short_salt_is_refused(tmp_path):
    with pytest.raises(InputError, match="salt has 3 bytes"):
        _record(tmp_path, _log(*PROMPTS), salt=b"abc")


def test_hashes_are_chained():
    cutter = TextCutter(salt=SALT, bytes_per_token=1.0)
    one = cutter.block_hashes("a" * 64 + "b" * 64 + "c" * 64, 192)
    two = cutter.block_hashes("x" * 64 + "b" * 64 + "c" * 64, 192)
    assert not set(one) & set(two)
    assert len(set(cutter.block_hashes("a" * 640, 640))) == 10


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (1, 1), (64, 1), (65, 2), (700, 11)])
def test_blocks_follow_the_tokens_not_the_text(tokens, blocks):
    cutter = TextCutter(bytes_per_token=4.0)
    for text in ("", "short", "long " * 1000):
        assert len(cutter.block_hashes(text, tokens)) == blocks


def test_a_text_that_has_more_blocks_than_tokens_ends_in_a_hash_of_all_the_rest():
    cutter = TextCutter(bytes_per_token=1.0)
    one, two = (cutter.block_hashes("a" * 128 + tail, 128) for tail in ("b" * 64, "c" * 64))
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_bytes_of_a_token_are_told_from_the_log(tmp_path):
    recording, _ = _record(tmp_path, _log((100, ["x" * 492])))
    assert recording.bytes_per_token == pytest.approx(499 / 100, rel=0.02)
    fixed, _ = _record(tmp_path, _log((100, ["x" * 492])), bytes_per_token=3.0)
    assert fixed.bytes_per_token == 3.0


def test_lengths_that_nothing_says_are_estimated_and_said_to_be(tmp_path):
    row = {
        "messages": _messages("s" * 400),
        "response": {"choices": [{"message": {"role": "assistant", "content": "y" * 70}}]},
    }
    trace = read(written(tmp_path, "log", jsonl(row)))
    assert trace.origin.lengths == "estimated"
    assert trace.input_tokens.tolist() == [102]
    assert any("estimated from bytes" in note for note in trace.origin.notes)


def test_an_answer_without_length_is_asked_for(tmp_path):
    path = written(tmp_path, "log", jsonl({"messages": _messages("s" * 400)}))
    with pytest.raises(TraceFormatError, match="answer-tokens"):
        read(path)
    assert read(path, answer_tokens=33).output_tokens.tolist() == [33]


PROXY = {
    "time_iso8601": "2026-05-01T10:00:10+00:00",
    "request_time": 2.5,
    "status": 200,
    "request_body": json.dumps({"model": "m", "prompt": "p" * 256}),
    "response_body": json.dumps({"usage": {"prompt_tokens": 64, "completion_tokens": 3}}),
}


def test_a_proxys_access_log(tmp_path):
    """The proxy writes its line when the answer is done: the request came `request_time` before."""
    later = {**PROXY, "time_iso8601": "2026-05-01T10:00:12+00:00", "request_time": "0.5"}
    failed = {**PROXY, "status": 502}
    recording, faults = _record(tmp_path, jsonl(PROXY, later, failed))
    trace = recording_trace(recording, faults)
    assert trace.arrival_s.tolist() == [0.0, 4.0]
    assert trace.service_s.tolist() == [2.5, 0.5]
    assert trace.input_tokens.tolist() == [64, 64]
    assert any("did not answer" in note and note.endswith("1") for note in trace.origin.notes)


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"model": "m"}, "$"),
        ({"messages": [], "usage": {"prompt_tokens": "many"}}, "$.usage.prompt_tokens"),
        ({"prompt": "x", "timestamp": "noon"}, "$.timestamp"),
        ({"prompt": "x", "timestamp": -3}, "$.timestamp"),
        ({"prompt": "x", "start_time": 10, "end_time": 5}, "$.end_time"),
        ({"request_body": "{broken"}, "$.request_body"),
    ],
)
def test_rows_that_are_no_requests(row, path):
    with pytest.raises(BadRowError) as caught:
        chat_request(row)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 9}, 9),
        ({"input_tokens": 9}, 9),
        ({"input_tokens": 9, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}, 129),
        ({}, None),
    ],
)
def test_whole_prompts_are_counted(usage, tokens):
    assert chat_request({"prompt": "x", "usage": usage}).input_tokens == tokens


def test_tools_and_parts_are_part_of_the_prompt():
    plain = chat_request({"messages": [{"role": "user", "content": "hi"}]}).prompt
    parts = chat_request({"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}).prompt
    tools = chat_request({"tools": [{"name": "f"}], "messages": [{"role": "user", "content": "hi"}]}).prompt
    assert plain == parts == "user\nhi"
    assert tools.endswith(plain)
    assert '"f"' in tools


def test_a_tokenizer_cuts_at_tokens(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, **{f"w{k}": k + 1 for k in range(200)}}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    cutter = TextCutter(tokenizer=str(path))
    words = " ".join(f"w{k}" for k in range(130))
    assert cutter.count(words) == 130
    assert cutter.block_hashes(words, 130)[:2] == cutter.block_hashes(words + " w1 w2", 132)[:2]
    with pytest.raises(InputError, match="not a tokenizer"):
        load_tokenizer(str(tmp_path))


def test_a_tokenizer_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtraError) as caught:
        load_tokenizer("tokenizer.json")
    assert "pip install" in caught.value.hint
