"""An interrupt before there is anything to tell: it is said, the exit code is 130, and nothing is left behind."""

import json
import sys

import pytest

from poolsplit import api
from poolsplit.cli.app import INTERRUPTED_EXIT_CODE, main


def interrupt(*_args, **_options):
    raise KeyboardInterrupt


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A command line that would write a file."""
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps({"timestamp": 0, "input_length": 64, "output_length": 1, "hash_ids": [1]}) + "\n")
    split = ("--state-slots", "64", "--kv-tokens", "100k")
    monkeypatch.setattr(sys, "argv", ["poolsplit", "replay", str(trace), *split, "-o", str(tmp_path / "out.txt")])
    return tmp_path


@pytest.mark.parametrize("step", ["read_trace", "prepare_replay", "replay_trace"])
def test_nothing_is_known_yet_and_nothing_is_left(asked, monkeypatch, capsys, step):
    monkeypatch.setattr(api, "prepare_replay", lambda: None)
    monkeypatch.setattr(api, step, interrupt)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == INTERRUPTED_EXIT_CODE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-2:] == ["nothing is known yet: no request was replayed to be told of", "interrupted"]
    assert [file.name for file in asked.iterdir()] == ["trace.jsonl"]
