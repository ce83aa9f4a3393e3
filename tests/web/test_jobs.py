"""Long work: every kind, followed, cancelled, shared by nobody, and never left behind."""

import contextlib
import gzip
import http.client
import os
import signal
import threading

import pytest

from live_server import serving
from poolsplit.web.jobs import GRACE_S
from support import EXAMPLES, run_command
from ui_server import PLAN, is_alive, running_ui, until

SAMPLE = [{"sample": "chat"}]
SPLIT = {"state_slots": 200, "kv_tokens": "400k"}
BUDGET = {"budget": "20GiB", "state_bytes": 18_000_000, "kv_bytes": 6144}


def first(ui, job, name):
    """The first event of a name; the listener goes away then."""
    with contextlib.closing(ui.events(job)) as events:
        return next(data for found, data in events if found == name)


def test_a_log_is_read_as_the_command_line_reads_it(ui, tmp_path):
    log = EXAMPLES / "boot-k3-class-tp8.log"
    upload = ui.upload(log.name, log.read_bytes())
    document = ui.work("read", files=[{"upload": upload}])
    (tmp_path / log.name).write_bytes(log.read_bytes())
    assert document == run_command("read", log.name, "--json", cwd=tmp_path).document


def test_a_gzip_log_says_its_progress_in_bytes(ui):
    content = gzip.compress((EXAMPLES / "run-time-states-full.log").read_bytes())
    job = ui.start("read", files=[{"upload": ui.upload("old.log.gz", content)}])
    events = list(ui.events(job))
    assert events[-1][0] == "result"
    assert all(0 < data["done"] <= data["total"] for name, data in events if name == "progress")


def test_flags_that_a_log_does_not_show(ui):
    log = (EXAMPLES / "boot-k3-class-tp8.log").read_bytes()
    name, data = ui.last_event(ui.start("read", files=[{"upload": ui.upload("a.log", log)}], flags="--tp"))
    assert (name, bool(data["hint"])) == ("error", True)


@pytest.mark.parametrize("content", [b"", b"the quick brown fox\n"])
def test_what_is_no_log_is_refused_as_on_the_command_line(ui, content):
    name, data = ui.last_event(ui.start("read", files=[{"upload": ui.upload("a.log", content)}]))
    assert (name, data["error"]) == ("error", "this is not a log of a server that we know")


def test_a_trace_is_described_as_the_command_line_describes_it(ui, tmp_path):
    run_command("trace", "synth", "chat", "--requests", "300", "--to", "mooncake", "-o", "chat.jsonl", cwd=tmp_path)
    upload = ui.upload("chat.jsonl", (tmp_path / "chat.jsonl").read_bytes())
    document = ui.work("trace-info", files=[{"upload": upload}], reading={"block_tokens": 64})
    line = ("trace", "info", "chat.jsonl", "--block-tokens", "64", "--json")
    expected = run_command(*line, cwd=tmp_path).document
    del document["inputs"], expected["inputs"]
    assert document == expected


def test_a_sample_is_what_its_command_makes(ui, tmp_path):
    (sample,) = [s for s in ui.ask("GET", "/api/choices").document["samples"] if s["name"] == "rag"]
    run_command(*sample["command"].split()[1:], cwd=tmp_path)
    expected = run_command("replay", "rag.pst", "--state-slots", "200", "--kv-tokens", "400k", "--json", cwd=tmp_path)
    document = ui.work("replay", files=[{"sample": "rag"}], split=SPLIT)
    timeline = document.pop("timeline")
    assert document == expected.document
    assert len(timeline["running"]) == len(timeline["clock_s"]) > 10
    assert 0 < max(timeline["state_used_fraction"]) <= 1


def test_a_replay_and_a_surface_take_a_whole_plan(ui):
    plan = ui.ask("POST", "/api/plan", PLAN).document
    replayed = ui.work("replay", files=SAMPLE, split={"plan": plan})
    assert replayed["server"]["state_slots"] == plan["recommended"]["state_slots"]
    surface = ui.work("surface", files=SAMPLE, budget={"plan": plan}, refine=False)
    assert surface["best"]["feasible_splits"] > 0
    assert surface["inputs"]["plan"] == "the plan"


def test_a_surface_gets_better_while_it_is_looked_at(ui):
    job = ui.start("surface", files=SAMPLE, budget=BUDGET, refine=True)
    partial = []
    with contextlib.closing(ui.events(job)) as events:
        for name, data in events:
            if name == "partial":
                partial.append(data["document"]["replays"])
            if len(partial) == 4:
                break
    assert partial == sorted(partial)
    assert partial[0] < partial[-1]
    ui.ask("DELETE", f"/api/jobs/{job}")


def test_a_server_is_watched_look_by_look(ui):
    with serving() as server:
        job = ui.start("watch", targets=[server.url], interval="1s", looks=2)
        events = list(ui.events(job))
    assert [name for name, _ in events][-1] == "result"
    (look,) = next(data["document"]["looks"] for name, data in events if name == "partial")
    assert look["schema_version"] == 1
    assert "binding" in look


def test_a_server_that_does_not_answer(ui):
    name, data = ui.last_event(ui.start("watch", targets=["http://127.0.0.1:9"], looks=1))
    assert name == "error"
    assert data["hint"]


@pytest.mark.parametrize(
    ("kind", "arguments", "needle"),
    [
        ("read", {"files": []}, "no file"),
        ("read", {"files": [{"sample": "chat"}]}, "no file"),
        ("trace-info", {"files": [{"sample": "poems"}]}, "chat, agent"),
        ("trace-info", {"files": SAMPLE * 2}, "alone"),
        ("replay", {"files": SAMPLE}, "--state-slots"),
        ("replay", {"files": SAMPLE, "split": {"state_slots": -1, "kv_tokens": "1k"}}, "state"),
        ("replay", {"files": SAMPLE, "split": SPLIT, "pace": {"mode": "chaos"}}, "chaos"),
        ("replay", {"files": SAMPLE, "split": {**SPLIT, "plan": {"no": "plan"}}}, "not a plan"),
        ("surface", {"files": SAMPLE, "budget": {"budget": "1TB"}}, "--state-bytes"),
        ("surface", {"files": SAMPLE, "pictures": "/etc"}, "pictures"),
        ("watch", {"targets": ["/etc/passwd"]}, "no address"),
        ("watch", {"targets": ["file:///etc/passwd"]}, "no address"),
        ("watch", {"targets": []}, "nothing to watch"),
    ],
)
def test_work_that_cannot_be_done_says_why(ui, kind, arguments, needle):
    name, data = ui.last_event(ui.start(kind, **arguments))
    assert name == "error"
    assert needle in data["error"] + data["hint"]
    assert data["hint"]


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "sweep"},
        {"kind": "read", "arguments": {"files": [{"path": "/etc/passwd"}]}},
        {"kind": "read", "arguments": {"files": ["/etc/passwd"]}},
        {"kind": "read", "arguments": {"files": [{}]}},
        {"kind": "read", "arguments": {"files": [{"upload": "x"}]}},
        {"kind": "read", "arguments": []},
    ],
)
def test_no_work_is_started_for_what_the_page_may_not_name(ui, body):
    ui.ask("POST", "/api/jobs", body).assert_refused(400)


@pytest.mark.parametrize("content", [b"", b"\x00" * 1000, b"not a log\n" * 100, b"\x1f\x8b broken"])
def test_bad_files_end_in_an_error_that_names_them(ui, content):
    upload = [{"upload": ui.upload("my file.bin", content)}]
    name, data = ui.last_event(ui.start("trace-info", files=upload))
    assert name == "error"
    assert "/proc" not in data["error"] + data["hint"]
    assert "my file.bin" in data["error"]
    name, data = ui.last_event(ui.start("read", files=upload))
    assert name in ("error", "result")
    assert "/proc" not in str(data)


def test_a_cancelled_job_is_gone_at_once(ui, endless):
    before = set(ui.children())
    job = ui.start(**endless)
    first(ui, job, "partial")
    (process,) = set(ui.children()) - before
    assert ui.ask("DELETE", f"/api/jobs/{job}").status == 204
    assert list(ui.events(job))[-1] == ("cancelled", {})
    until(lambda: not is_alive(process), 5)
    assert ui.ask("GET", "/api/choices").status == 200


def test_a_kernel_in_the_middle_of_its_loop_is_stopped_too(ui):
    before = set(ui.children())
    job = ui.start("surface", files=[{"sample": "agent"}], refine=True)
    first(ui, job, "progress")
    (process,) = set(ui.children()) - before
    ui.ask("DELETE", f"/api/jobs/{job}")
    until(lambda: not is_alive(process), 5)


def test_modules_of_the_folder_around_are_not_taken(tmp_path):
    for name in ("json.py", "poolsplit.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('a stranger')\n")
    with running_ui(cwd=tmp_path) as ui:
        assert ui.work("trace-info", files=SAMPLE)["requests"] == 2000


def test_work_that_is_not_known(ui):
    ui.ask("GET", "/api/jobs/nothing/events").assert_refused(404)
    ui.ask("DELETE", "/api/jobs/nothing").assert_refused(404)


def test_a_late_listener_hears_the_end(ui):
    job = ui.start("trace-info", files=SAMPLE)
    assert ui.last_event(job)[0] == "result"
    assert [name for name, _ in ui.events(job)] == ["progress", "result"]


def test_two_pages_do_not_disturb_each_other(ui, endless):
    ends = {}

    def follow(name, preset):
        ends[name] = ui.work("trace-info", files=[{"sample": preset}])["requests"], preset

    cancelled = ui.start(**endless)
    pages = [threading.Thread(target=follow, args=(number, preset)) for number, preset in enumerate(("chat", "rag"))]
    for page in pages:
        page.start()
    ui.ask("DELETE", f"/api/jobs/{cancelled}")
    for page in pages:
        page.join()
    assert ends == {0: (2000, "chat"), 1: (2000, "rag")}


def test_only_so_much_work_goes_on_at_a_time(tmp_path, endless):
    with running_ui(cwd=tmp_path) as ui:
        most = ui.ask("GET", "/api/choices").document["jobs_limit"]
        jobs = [ui.start(**endless) for _ in range(most)]
        body = {"kind": "trace-info", "arguments": {"files": SAMPLE}}
        ui.ask("POST", "/api/jobs", body).assert_refused(429, "cancel one")
        for job in jobs:
            ui.ask("DELETE", f"/api/jobs/{job}")
        assert ui.work("trace-info", files=SAMPLE)["requests"] == 2000


def test_a_worker_that_dies_is_told(ui, endless):
    before = set(ui.children())
    job = ui.start(**endless)
    first(ui, job, "partial")
    (process,) = set(ui.children()) - before
    os.kill(process, signal.SIGKILL)
    name, data = ui.last_event(job)
    assert (name, "memory" in data["hint"]) == ("error", True)


def test_a_page_that_is_closed_ends_its_work(ui, endless):
    """The usual patience, in full: a reload within it finds its work again."""
    before = set(ui.children())
    job = ui.start(**endless)
    connection = http.client.HTTPConnection("127.0.0.1", ui.port, timeout=30)
    connection.request("GET", f"/api/jobs/{job}/events")
    connection.getresponse().readline()
    (process,) = set(ui.children()) - before
    connection.close()
    first(ui, job, "partial")
    assert is_alive(process)
    until(lambda: not is_alive(process), GRACE_S + 15)
    ui.ask("GET", f"/api/jobs/{job}/events").assert_refused(404)
