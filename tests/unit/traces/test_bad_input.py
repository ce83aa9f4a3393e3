"""Broken files end in errors that name the place, and never in a traceback or in wrong figures."""

import gzip
import json

import pytest

from poolsplit.errors import InputError, TraceFormatError, UsageError
from poolsplit.traces import sources
from trace_samples import SAMPLES, WEKA_SESSION, jsonl, read, written


def test_a_truncated_gzip(tmp_path):
    packed = gzip.compress(SAMPLES["mooncake"].content * 50)
    path = written(tmp_path, "cut.gz", packed[: len(packed) // 2])
    with pytest.raises(TraceFormatError, match="ends early"):
        read(path)


def test_a_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(SAMPLES["mooncake"].content * 50))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(TraceFormatError, match=r"damaged|not JSON|truncated"):
        read(written(tmp_path, "bad.gz", bytes(packed)))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_RECORD_BYTES", 1 << 20)
    monkeypatch.setattr(sources, "CHUNK_BYTES", 1 << 16)
    first = SAMPLES["mooncake"].content.splitlines(keepends=True)[0]
    path = written(tmp_path, "endless", first + b'{"timestamp": 1, "hash_ids": [' + b"1," * (1 << 20))
    with pytest.raises(TraceFormatError, match="longer than 1 MiB") as caught:
        read(path)
    assert caught.value.where == f"{path}:2"


def test_ten_gigabytes_of_one_line_stop_at_the_limit(tmp_path):
    """A file that claims 10 GB on disk and holds a hole: reading must give up after the longest record."""
    path = tmp_path / "huge"
    with path.open("wb") as out:
        out.write(b'{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [')
        out.truncate(10 * 10**9)
    read_bytes = 0
    real = sources.Source._chunks

    def counted(self):
        nonlocal read_bytes
        for chunk in real(self):
            read_bytes += len(chunk)
            yield chunk

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources.Source, "_chunks", counted)
        patch.setattr(sources, "MAX_RECORD_BYTES", 1 << 26)
        with pytest.raises(TraceFormatError, match="longer than"):
            read(path, format="mooncake")
    assert read_bytes <= (1 << 26) + 2 * sources.CHUNK_BYTES


def test_a_document_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_RECORD_BYTES", 1000)
    path = written(tmp_path, "pretty", json.dumps(WEKA_SESSION, indent=2).encode())
    with pytest.raises(TraceFormatError, match="larger than"):
        read(path)


def _chat(chat, parent, time_s):
    return {
        "chat_id": chat,
        "parent_chat_id": parent,
        "timestamp": time_s,
        "input_length": 16,
        "output_length": 1,
        "hash_ids": [chat],
    }


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([_chat(1, 2, 0.0), _chat(2, 1, 1.0)], id="two in a circle"),
        pytest.param([_chat(1, 1, 0.0)], id="its own parent"),
        pytest.param([_chat(1, 3, 0.0), _chat(2, 1, 1.0), _chat(3, 2, 2.0)], id="three in a circle"),
        pytest.param([_chat(1, 2, 0.0), _chat(2, -1, 1.0)], id="back in time"),
    ],
)
def test_parents_in_a_circle(tmp_path, rows):
    with pytest.raises(TraceFormatError, match="circle") as caught:
        read(written(tmp_path, "trace", jsonl(*rows)))
    assert "$.parent_chat_id" in caught.value.where


def test_a_parent_that_is_not_there_is_counted(tmp_path):
    trace = read(written(tmp_path, "trace", jsonl(_chat(1, 77, 0.0))))
    assert trace.after.tolist() == [-1]
    assert any("not in the trace" in note and note.endswith("1") for note in trace.origin.notes)


@pytest.mark.parametrize("field", ["timestamp", "input_length", "output_length"])
def test_negative_figures(tmp_path, field):
    row = {"timestamp": 5, "input_length": 512, "output_length": 5, "hash_ids": [1]}
    with pytest.raises(TraceFormatError) as caught:
        read(written(tmp_path, "trace", jsonl(row, {**row, field: -1})))
    assert caught.value.where.endswith(f":2: $.{field}")


@pytest.mark.parametrize(
    "line", [b'{"timestamp": NaN}', b'{"timestamp": 1e999}', b"[1, 2]", b"\xff\xfe", b'{"a": "\\ud800"}']
)
def test_lines_that_are_no_requests(tmp_path, line):
    content = SAMPLES["mooncake"].content + line + b"\n"
    with pytest.raises(TraceFormatError) as caught:
        read(written(tmp_path, "trace", content))
    assert ":4" in caught.value.where
    assert len(read(written(tmp_path, "trace", content), skip_bad=True)) == 3


def test_a_session_twice(tmp_path):
    path = written(tmp_path, "trace", jsonl(WEKA_SESSION, WEKA_SESSION))
    with pytest.raises(TraceFormatError, match="read before") as caught:
        read(path)
    assert caught.value.where == f"{path}:2: $.id"


def test_ids_that_do_not_fit_the_block_size(tmp_path):
    row = {"timestamp": 0, "input_length": 640, "output_length": 1, "hash_ids": list(range(10))}
    path = written(tmp_path, "trace", jsonl(row))
    with pytest.raises(TraceFormatError, match="blocks of 64 would fit"):
        read(path)
    assert read(path, block_tokens=64).block_tokens == 64


@pytest.mark.parametrize(
    ("ids", "path"), [([1, None], "[1]"), ([1, [2]], "[1]"), ([1.5, 2], "[0]"), (7, ""), ([True, 1], "[0]")]
)
def test_ids_that_are_none(tmp_path, ids, path):
    row = {"timestamp": 0, "input_length": 1000, "output_length": 1, "hash_ids": ids}
    with pytest.raises(TraceFormatError) as caught:
        read(written(tmp_path, "trace", jsonl(row)))
    assert caught.value.where.endswith(f"$.hash_ids{path}")


def test_a_bad_id_inside_a_session_is_named(tmp_path):
    session = json.loads(json.dumps(WEKA_SESSION))
    session["requests"][2]["requests"][1]["hash_ids"][0] = 1.5
    with pytest.raises(TraceFormatError) as caught:
        read(written(tmp_path, "trace", jsonl(session)))
    assert caught.value.where.endswith("$.requests[2].requests[1].hash_ids[0]")


@pytest.mark.parametrize("field", ["input_length", "output_length"])
def test_lengths_beyond_all_measure(tmp_path, field):
    row = {"timestamp": 5, "input_length": 512, "output_length": 5, "hash_ids": [1]}
    with pytest.raises(TraceFormatError) as caught:
        read(written(tmp_path, "trace", jsonl({**row, field: 10**19})))
    assert caught.value.where.endswith(f":1: $.{field}")


@pytest.mark.parametrize("options", [{"block_tokens": 0}, {"answer_tokens": -1}])
def test_options_that_are_no_lengths(tmp_path, options):
    with pytest.raises(UsageError, match="--"):
        read(written(tmp_path, "trace", SAMPLES["mooncake"].content), **options)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    for name in ("mooncake", "azure", "weka"):
        path = written(tmp_path, name, b"\xef\xbb\xbf" + SAMPLES[name].content)
        assert read(path).input_tokens.tolist() == SAMPLES[name].input_tokens


def test_several_files_on_one_clock_are_said_to_be(tmp_path):
    paths = [written(tmp_path, name, SAMPLES["mooncake"].content) for name in "ab"]
    assert any("2 files" in note and "one clock" in note for note in read(*paths).origin.notes)


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="no trace files"):
        read(tmp_path)


def test_a_compact_file_that_is_damaged(tmp_path):
    path = tmp_path / "t.pst"
    for content in (b"PK\x03\x04" + b"x" * 100, b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(TraceFormatError, match="compact"):
            read(path)
