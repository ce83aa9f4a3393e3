"""`poolsplit trace` as a person runs it."""

import gzip
import json
from pathlib import Path

import pytest

from support import GOLDEN, run_command
from trace_samples import SAMPLES, WEKA_SESSION, jsonl, read

SESSIONS = GOLDEN / "traces" / "weka_sessions"


@pytest.fixture
def mooncake(tmp_path):
    path = tmp_path / "requests"
    path.write_bytes(SAMPLES["mooncake"].content)
    return str(path)


def test_info_as_json(poolsplit, mooncake):
    document = poolsplit("trace", "info", mooncake, "--json").document
    assert document["schema_version"] == 1
    assert document["command"] == "trace info"
    assert document["inputs"]["files"] == [mooncake]
    for name in ("format", "dialect", "requests", "sessions", "input_tokens", "output_tokens", "unique_tokens"):
        assert name in document
    assert set(document["input_tokens"]) == {"sum", "mean", "p50", "p90", "p99", "max"}
    assert document["infinite_reuse_fraction"] == 2012 / 4000
    assert document["span_s"] == 1.5
    assert (document["block_tokens"], document["scope"]) == (512, "trace")
    assert all(set(step) == {"name", "value", "unit", "source"} for step in document["derivation"])
    assert document["warnings"] == []


def test_info_as_text(poolsplit, mooncake):
    result = poolsplit("trace", "info", mooncake, "--explain")
    assert result.exit_code == 0
    assert "format    mooncake, full" in result.stdout
    assert "50.30% of input tokens" in result.stdout
    assert "█" in result.stdout
    assert "derivation" in result.stdout
    assert max(map(len, result.stdout.split("derivation")[0].splitlines())) <= 80


def test_info_of_a_folder_says_what_was_decided(poolsplit):
    result = poolsplit("trace", "info", str(SESSIONS))
    assert "sessions  4" in result.stdout
    assert "warning: block ids are local" in result.stderr
    assert "warning: times of subagents are read as relative" in result.stderr


def test_standard_input_and_output(poolsplit):
    line = SAMPLES["mooncake"].content.decode()
    assert poolsplit("trace", "info", "-", "--json", stdin=line).document["requests"] == 3
    result = poolsplit("trace", "convert", "-", "--to", "azure", stdin=line)
    assert result.stdout.splitlines()[0] == "TIMESTAMP,ContextTokens,GeneratedTokens"
    assert "lost: which prompts share a prefix" in result.stderr


def test_an_option_that_is_none_is_no_file(poolsplit, mooncake):
    poolsplit("trace", "info", mooncake, "--jsn").assert_error(2, "no option `--jsn`")


def test_lengths_only_have_no_hit_rate(poolsplit, tmp_path):
    path = tmp_path / "lengths"
    path.write_bytes(SAMPLES["azure"].content)
    document = poolsplit("trace", "info", str(path), "--json").document
    assert document["infinite_reuse_fraction"] is None
    assert document["infinite_reuse_fraction_reason"]


def test_convert_there_and_back(poolsplit, tmp_path, mooncake):
    packed = poolsplit("trace", "convert", mooncake, "-o", "t.pst", "--json").document
    assert (packed["to"], packed["written"], packed["lost"]) == ("pst", "t.pst", [])
    assert poolsplit("trace", "convert", "t.pst", "--to", "mooncake", "-o", "back.jsonl.gz", "--quiet").stdout == ""
    with gzip.open(tmp_path / "back.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    assert [row["input_length"] for row in rows] == SAMPLES["mooncake"].input_tokens
    assert [row["timestamp"] for row in rows] == [0, 1000, 1500]


def test_convert_lists_what_is_lost(poolsplit, tmp_path):
    result = poolsplit("trace", "convert", str(SESSIONS), "--to", "mooncake", "-o", "t.jsonl")
    assert "lost: think times" in result.stderr
    assert "lost: the block size: read it with `--block-tokens 64`" in result.stderr
    assert "wrote" in result.stdout
    assert len(read(tmp_path / "t.jsonl", block_tokens=64)) == 91


def test_nothing_is_left_behind_when_a_format_is_refused(poolsplit, tmp_path, mooncake):
    poolsplit("trace", "convert", mooncake, "--to", "papyrus", "-o", "t").assert_error(2, "papyrus", "weka")
    assert not (tmp_path / "t").exists()


def test_a_bad_line_names_file_line_and_path(poolsplit, mooncake):
    with Path(mooncake).open("ab") as out:
        out.write(b'{"timestamp": 1, "input_length": "x", "output_length": 2, "hash_ids": []}\n')
    poolsplit("trace", "info", mooncake).assert_error(2, f"{mooncake}:4: $.input_length", "--skip-bad")
    result = poolsplit("trace", "info", mooncake, "--skip-bad")
    assert result.exit_code == 0
    assert "bad lines that were skipped: 1" in result.stderr


def test_synth_is_one_trace_a_seed(poolsplit, tmp_path):
    for name in ("one.pst", "two.pst"):
        poolsplit("trace", "synth", "agent", "--seed", "3", "--requests", "400", "-o", name)
    assert (tmp_path / "one.pst").read_bytes() == (tmp_path / "two.pst").read_bytes()
    document = poolsplit("trace", "synth", "chat", "--requests", "300", "-o", "c.pst", "--json").document
    assert document["requests"] == 300
    assert any(step["name"] == "turns_mean" for step in document["derivation"])


def test_synth_parameters_are_flags(poolsplit, tmp_path):
    poolsplit("trace", "synth", "rag", "--requests=200", "--documents", "3", "--block-tokens", "16", "-o", "r.pst")
    trace = read(tmp_path / "r.pst")
    assert (len(trace), trace.block_tokens) == (200, 16)
    listing = poolsplit("trace", "synth", "agent", "--explain").stdout
    assert "--break-fraction" in listing
    poolsplit("trace", "synth", "agent", "--brake-fraction", "0").assert_error(2, "--break-fraction")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("synth", "chat", "--requests", "9", "--seed", "-1", "-o", "x.pst"), "`--seed` is -1"),
        (("info", "{trace}", "--block-tokens", "9" * 20), "`--block-tokens` is 9"),
        (("convert", "{trace}", "--to", "mooncake", "--to-block-tokens", "9" * 20), "`--to-block-tokens` is 9"),
        (("record", "{trace}", "--answer-tokens", "9" * 20, "--salt-file", "{salt}"), "`--answer-tokens` is 9"),
    ],
)
def test_numbers_out_of_range_are_named(poolsplit, tmp_path, mooncake, arguments, words):
    salt = tmp_path / "salt"
    salt.write_bytes(b"s" * 32)
    poolsplit("trace", *(word.format(trace=mooncake, salt=salt) for word in arguments)).assert_error(2, words)


def test_record_keeps_no_text(poolsplit, tmp_path):
    (tmp_path / "salt").write_bytes(b"k" * 32)
    log = tmp_path / "log.jsonl"
    log.write_bytes(SAMPLES["openai"].content)
    result = poolsplit("trace", "record", str(log), "--salt-file", "salt", "-o", "out.jsonl")
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "out.jsonl").read_text()
    assert "aaaa" not in text
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["input_length"] for row in rows] == [128, 140]
    assert rows[0]["hash_ids"][0] == rows[1]["hash_ids"][0]
    by_variable = poolsplit("trace", "record", str(log), env={"POOLSPLIT_SALT": "k" * 32})
    assert by_variable.stdout == text


def test_record_wants_a_salt(poolsplit, tmp_path):
    (tmp_path / "log").write_bytes(SAMPLES["openai"].content)
    poolsplit("trace", "record", "log", env={"POOLSPLIT_SALT": ""}).assert_error(2, "salt")
    poolsplit("trace", "record", "log", env={"POOLSPLIT_SALT": "short"}).assert_error(2, "5 bytes")


def test_planning_never_imports_numpy_through_traces(tmp_path):
    result = run_command("trace", "--help", cwd=tmp_path)
    assert result.exit_code == 0
    for word in ("info", "convert", "synth", "record"):
        assert word in result.stdout


def test_json_and_trace_cannot_share_standard_output(poolsplit, mooncake):
    poolsplit("trace", "convert", mooncake, "--to", "mooncake", "--json").assert_error(2, "-o FILE")


def test_a_session_file_of_a_folder_that_is_broken_is_named(poolsplit, tmp_path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "a.json").write_bytes(jsonl(WEKA_SESSION))
    (folder / "b.json").write_bytes(jsonl({**WEKA_SESSION, "id": "b"})[:-40])
    poolsplit("trace", "info", str(folder)).assert_error(2, "b.json:1", "JSON")


@pytest.mark.parametrize(("name", "form"), [("t.jsonl", "mooncake"), ("t.csv", "azure"), ("t.jsonl.gz", "mooncake")])
def test_a_made_trace_is_not_written_in_a_format_that_its_name_alone_asks_for(poolsplit, tmp_path, name, form):
    made = ("trace", "synth", "chat", "--requests", "50")
    poolsplit(*made, "-o", name).assert_error(2, f"the name tells of {form}", "`.pst`", f"`--to {form}`")
    assert not (tmp_path / name).exists()
    assert poolsplit(*made, "--to", form, "-o", name).exit_code == 0
    assert poolsplit(*made, "-o", "t.pst").exit_code == 0
    sizes = ("--state-slots", "40", "--kv-tokens", "100k")
    assert poolsplit("replay", "t.pst", *sizes, "--json").document["requests"] == 50
