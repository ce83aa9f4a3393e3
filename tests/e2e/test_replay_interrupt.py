"""Ctrl-C in the middle of a replay prints what is known so far."""

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import closing

import pytest

from support import COMMAND, TIMEOUT_S, interruptible

ROWS = 6000
SPLIT = ("--state-slots", "64", "--kv-tokens", "10000000", "--sessions", "8", "--track-interval", "64")


@pytest.fixture
def long_trace(tmp_path):
    """Outputs with a snapshot every 64 tokens, so that no step can be passed over: many million iterations.

    The first request ends early, so that some have ended whenever the bar moves.
    """
    file = tmp_path / "long.jsonl"
    lengths = (64 if i == 0 else 200_000 for i in range(ROWS))
    rows = (
        {"timestamp": i, "input_length": 512, "output_length": length, "hash_ids": [i]}
        for i, length in enumerate(lengths)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def interrupted(tmp_path, *arguments):
    """Runs the command on a terminal and interrupts it once the bar has moved; exit code, stdout, stderr."""
    reader, terminal = pty.openpty()
    command = interruptible([str(COMMAND), "replay", *arguments])
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        with closing(os.fdopen(reader, "rb", buffering=0)) as screen:
            shown = b""
            while not re.search(rb"\D[1-9]\d*/\d+", shown):
                shown += screen.read(4096)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, out.decode(), shown.decode(errors="replace")


def test_the_requests_so_far_are_counted(tmp_path, long_trace):
    code, out, _ = interrupted(tmp_path, long_trace, *SPLIT, "--json")
    document = json.loads(out)
    assert code == 0
    assert document["interrupted"] is True
    assert 0 < document["unfinished"] < document["requests"] == ROWS
    assert 0 < document["input_tokens"] < ROWS * 512
    assert document["input_tokens"] == document["cached_tokens"] + document["recomputed_tokens"]
    assert document["running"]["max"] == 8
    assert any("had not ended" in warning for warning in document["warnings"])


def test_people_get_the_screen_and_the_curve_so_far(tmp_path, long_trace):
    code, out, _ = interrupted(tmp_path, long_trace, *SPLIT, "--timeline", "curve.csv")
    assert code == 0
    assert "recomputed" in out
    assert len((tmp_path / "curve.csv").read_text().splitlines()) > 1
