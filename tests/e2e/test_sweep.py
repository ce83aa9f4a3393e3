"""The real command line sweeping: stopped, gone on with, in one process and in two, a worker killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import COMMAND

SETS = ("trace=synth:rag:requests=40", "kv_tokens=20k,30k,60k", "state_slots=10,40", "strategy=extra_buffer,no_buffer")
ARGUMENTS = [word for text in SETS for word in ("--set", text)]


def lines(folder):
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_results_stand_in_grid_order_and_do_not_depend_on_the_executor(poolsplit, tmp_path):
    done = poolsplit("sweep", *ARGUMENTS, "-o", "one", "--json")
    assert done.exit_code == 0, done.stderr
    assert (done.document["points"], done.document["replayed"]) == (12, 12)
    found = lines(tmp_path / "one")
    assert [(f["point"]["kv_tokens"], f["point"]["state_slots"]) for f in found[::2]] == [
        (tokens << 10, slots) for tokens in (20, 30, 60) for slots in (10, 40)
    ]
    assert len({f["cached_tokens"] for f in found}) > 3
    assert poolsplit("sweep", *ARGUMENTS, "-o", "two", "--workers", "2").exit_code == 0
    one, two = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two
    assert json.loads((tmp_path / "one" / "spec.json").read_text())["axes"][1] == ["kv_tokens", [20480, 30720, 61440]]


def test_points_that_serve_nobody_are_counted(poolsplit, tmp_path):
    small = ("--set", "trace=synth:rag:requests=20", "--set", "kv_tokens=64,60k", "--set", "state_slots=10")
    done = poolsplit("sweep", *small, "-o", "d", "--json")
    assert (done.exit_code, done.document["unserved"]) == (0, 1)
    assert done.document["warnings"][0].startswith("1 of 2 points do not serve their trace")
    assert [found["cached_tokens"] is None for found in lines(tmp_path / "d")] == [True, False]


def test_a_folder_is_not_overwritten_and_is_gone_on_with(poolsplit, tmp_path):
    (tmp_path / "spec.toml").write_text(
        'trace = "synth:rag:requests=30"\nkv_tokens = [20000, 30000]\nstate_slots = 20\n'
    )
    assert poolsplit("sweep", "spec.toml", "-o", "d").exit_code == 0
    poolsplit("sweep", "spec.toml", "-o", "d").assert_error(2, "--resume")
    poolsplit("sweep", "spec.toml", "--set", "state_slots=5", "-o", "d").assert_error(2, "another sweep")
    before = (tmp_path / "d" / "results.jsonl").read_bytes()
    again = poolsplit("sweep", "spec.toml", "-o", "d", "--resume", "--json")
    assert (again.document["replayed"], again.document["found"]) == (0, 2)
    assert (tmp_path / "d" / "results.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (["--set", "speed=1"], "nothing that can be swept"),
        (["--set", "kv_tokens"], "sets nothing"),
        (["--set", "kv_tokens=1,2"], "needs `trace`"),
        ([], "nothing to sweep"),
        (["nowhere.toml"], "cannot read"),
    ],
)
def test_what_cannot_be_swept_is_said(poolsplit, arguments, needle):
    poolsplit("sweep", *arguments, "-o", "d").assert_error(2, needle)


@pytest.mark.parametrize(
    ("bad", "needle"),
    [
        ("trace=nowhere.jsonl", "nowhere.jsonl"),
        ("strategy=none", "the strategy `none`"),
        ("trace=lengths.csv", "a replay of its order needs prompts with block ids"),
        ("seed=abc", "`abc` is no value of `seed`"),
    ],
)
@pytest.mark.parametrize("crew", [(), ("--workers", "1")])
def test_a_sweep_that_is_refused_leaves_its_folder_free(poolsplit, tmp_path, bad, needle, crew):
    (tmp_path / "lengths.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.0,100,10\n")
    good = ["--set", "trace=synth:rag:requests=20", "--set", "kv_tokens=20k", "--set", "state_slots=10"]
    poolsplit("sweep", *good, "--set", bad, *crew, "-o", "d").assert_error(2, needle)
    assert not (tmp_path / "d").exists()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine.txt").write_text("kept")
    poolsplit("sweep", *good, "--set", bad, *crew, "-o", "d").assert_error(2, needle)
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["mine.txt"]
    assert poolsplit("sweep", *good, "-o", "d").exit_code == 0


ORPHANS = """
import multiprocessing, os, pathlib, sys, threading, time
from poolsplit import api

def tell(done, total):
    pids = [str(child.pid) for child in multiprocessing.active_children()]
    pathlib.Path("pids").write_text(" ".join(pids))
    os.kill(os.getpid(), 9)

if __name__ == "__main__":
    api.sweep(None, sys.argv[1:], "d", workers=2, progress=tell)
"""


def test_workers_end_with_the_process_that_started_them(tmp_path):
    (tmp_path / "orphans.py").write_text(ORPHANS)
    sets = ["trace=synth:rag:requests=400", "kv_tokens=20k,30k,60k,90k", "state_slots=10,20,30,40", "seed=1,2,3,4,5,6"]
    done = subprocess.run([sys.executable, "orphans.py", *sets], cwd=tmp_path, check=False, timeout=240)
    assert done.returncode == -signal.SIGKILL
    workers = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert workers
    deadline = time.monotonic() + 60
    while any(map(runs, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(runs, workers))


def runs(pid):
    """Whether a process is there and no zombie that waits for its new parent."""
    try:
        status = (Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def points_in(folder):
    return len(list((folder / "points").glob("*.json"))) if (folder / "points").is_dir() else 0


def test_a_killed_sweep_goes_on_where_it_was(poolsplit, tmp_path):
    """Killed outright after the first points: nothing is half-written, and nothing is replayed twice."""
    sets = [*ARGUMENTS, "--set", "seed=1,2,3,4,5,6"]
    process = subprocess.Popen([str(COMMAND), "sweep", *sets, "-o", "d"], cwd=tmp_path, start_new_session=True)
    while points_in(tmp_path / "d") < 3 and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for file in (tmp_path / "d" / "points").glob("*.json"):
        json.loads(file.read_text())
    kept = points_in(tmp_path / "d")
    went_on = poolsplit("sweep", *sets, "-o", "d", "--resume", "--json")
    assert went_on.exit_code == 0, went_on.stderr
    assert (went_on.document["found"], went_on.document["replayed"]) == (kept, 72 - kept)
    assert poolsplit("sweep", *sets, "-o", "whole").exit_code == 0
    one, two = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("d", "whole"))
    assert one == two


KILLER = """
import os, signal, sys
from poolsplit import api

def kill(done, total, killed=[]):
    if done == 3 and not killed:
        import multiprocessing
        killed.append(multiprocessing.active_children()[0].pid)
        os.kill(killed[0], signal.SIGKILL)

if __name__ == "__main__":
    sets = sys.argv[1:]
    found = api.sweep(None, sets, "killed", workers=2, progress=kill)
    print(found["points"])
"""


def test_a_killed_worker_process_changes_nothing(poolsplit, tmp_path):
    (tmp_path / "killer.py").write_text(KILLER)
    sets = [*SETS, "seed=1,2"]
    done = subprocess.run(
        [sys.executable, "killer.py", *sets], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "24", done.stderr
    assert poolsplit("sweep", *ARGUMENTS, "--set", "seed=1,2", "-o", "here").exit_code == 0
    one, two = ((tmp_path / name / "results.jsonl").read_bytes() for name in ("killed", "here"))
    assert one == two
