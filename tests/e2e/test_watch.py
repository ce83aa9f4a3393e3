"""The real `poolsplit watch` against real servers: lines, JSON, plans, recordings, fleets and failures."""

import json
import os
import shlex
import signal
import subprocess
import time

import pytest

from live_server import Engine, make_certificate, serving
from support import COMMAND, GOLDEN, TIMEOUT_S, interruptible

PLAN_FIELDS = {
    "running",
    "queued",
    "kv_usage_fraction",
    "state_usage_fraction",
    "cached_fraction",
    "retractions",
    "mean_context_tokens",
    "binding",
    "findings",
    "predicted",
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server():
    engine = Engine()
    engine.serve(computed=600_000, cached=400_000, finished=100)
    with serving(engine) as started:
        yield started


@pytest.fixture
def plan_file(tmp_path):
    """Writes a plan for the made-up engine."""

    def write(name="plan.json", **recommended):
        plan = {
            "command": "plan",
            "workload": {"mean_tokens": 8192.0},
            "constants": {
                "state_bytes_per_slot": 76_972_032,
                "kv_bytes_per_token": 32_768,
                "slots_per_request": 5,
                "draft_states": 0,
                "dcp_size": 1,
                "origin": "catalog",
            },
            "recommended": {
                "mode": "ratio",
                "state_to_kv_ratio": 0.9,
                "state_slots": 100,
                "kv_tokens": 1_000_000,
                "max_running_requests": 20,
                "running_requests": 20,
                "binding": "state",
                "flags": [],
                **recommended,
            },
        }
        (tmp_path / name).write_text(json.dumps(plan))
        return name

    return write


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_one_look_is_one_json_line_with_the_promised_fields(poolsplit, server):
    result = poolsplit("watch", server.url, "--once", "--json")
    (document,) = lines(result)
    assert result.exit_code == 0
    assert set(document) >= PLAN_FIELDS | {"schema_version", "command", "engine", "warnings", "derivation"}
    assert document["engine"] == {"name": "sglang", "version": "0.5.23"}
    assert (document["running"], document["queued"], document["binding"]) == (20, 4, "state")
    assert (document["cached_fraction"], document["span"]) == (0.4, "since_start")
    assert document["plan_command"].startswith("poolsplit plan --context 8192 -- python -m sglang.launch_server")
    assert "hunter2" not in result.stdout


def test_only_gets_are_sent(poolsplit, server):
    poolsplit("watch", server.url, "--looks", "3", "--interval", "50ms")
    poolsplit("check", server.url)
    assert {method for method, _ in server.seen} == {"GET"}
    assert {path for _, path in server.seen} == {"/metrics", "/server_info", "/v1/loads?include=core"}


def test_a_status_line_an_interval_and_a_finding_once(poolsplit, server):
    result = poolsplit("watch", server.url, "--looks", "3", "--interval", "50ms")
    rows = result.stdout.splitlines()
    status = [row for row in rows if "run 20/20 queue 4" in row]
    assert len(status) == 3
    assert "state 97% used 1% kept of 100  kv 25% used 35% kept of 1,000,000  ctx 8.2k  reuse 40%" in status[0]
    assert sum(row.startswith("warning: requests wait for state slots") for row in rows) == 1
    assert result.stderr == ""


def test_predicted_stands_beside_measured(poolsplit, server, plan_file):
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json", "--plan", plan_file()))
    predicted = document["predicted"]
    assert predicted["origin"] == "plan"
    assert (predicted["running"], predicted["state_slots"], predicted["binding"]) == (20, 100, "state")
    assert predicted["mean_request_tokens"] == 8192.0
    assert {row["name"]: row["ok"] for row in document["comparisons"]} == {
        "state_slots": True,
        "kv_tokens": True,
        "max_running_requests": True,
        "running": True,
        "mean_request_tokens": True,
        "cached_fraction": None,
        "binding": True,
    }


@pytest.mark.parametrize(
    ("recommended", "mismatch"),
    [
        ({}, None),
        ({"state_slots": 101}, None),
        ({"state_slots": 120}, "state_slots"),
        ({"kv_tokens": 900_000}, "kv_tokens"),
        ({"max_running_requests": 24}, "max_running_requests"),
        ({"running_requests": 30}, "running"),
        ({"binding": "kv"}, "binding"),
    ],
)
def test_check_exits_with_1_on_a_mismatch(poolsplit, server, plan_file, recommended, mismatch):
    result = poolsplit("watch", server.url, "--once", "--check", "--plan", plan_file(**recommended))
    assert result.exit_code == (0 if mismatch is None else 1)
    assert ("mismatch: " in result.stdout) is (mismatch is not None)
    if mismatch:
        assert f"mismatch: {mismatch} is" in result.stdout


def test_a_wider_tolerance_lets_a_mismatch_pass(poolsplit, server, plan_file):
    plan = plan_file(state_slots=120)
    assert poolsplit("watch", server.url, "--once", "--check", "--plan", plan, "--max-error", "0.2").exit_code == 0


def test_from_the_servers_own_start_up(poolsplit, server):
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json", "--check"))
    assert document["predicted"]["origin"] == "server_info"
    server.engine.granted = 11
    assert poolsplit("watch", server.url, "--once", "--check").exit_code == 1


def test_constants_of_an_embedded_model_give_the_fitting_ratio(poolsplit, server):
    tokens = sum(server.engine.kv)
    state = server.engine.server_info()["internal_states"][0]
    state["memory_usage"]["kvcache"] = round((tokens + 1) * 32_768 / 2**30, 3)
    server.engine.info = {"model_path": "Qwen/Qwen3.5-27B", "internal_states": [state]}
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json"))
    steps = {step["name"]: step["value"] for step in document["derivation"]}
    assert steps["state_bytes_per_slot"] == 76_972_032
    assert steps["state_pool_bytes"] == 101 * 76_972_032
    assert "ratio_for_measured_length" in {found["id"] for found in document["findings"]}


def test_a_model_whose_rows_differ_gives_no_constants(poolsplit, server):
    server.engine.info = {"model_path": "Qwen/Qwen3.5-27B"}
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json"))
    assert "state_bytes_per_slot" not in {step["name"] for step in document["derivation"]}


def test_a_recorded_session_replays_to_the_same_lines(poolsplit, server, tmp_path):
    live = poolsplit("watch", server.url, "--looks", "3", "--interval", "50ms", "--record", "s.jsonl", "--json")
    again = poolsplit("watch", "s.jsonl", "--json")
    assert again.stdout == live.stdout
    assert again.exit_code == 0
    assert "hunter2" not in (tmp_path / "s.jsonl").read_text()
    assert poolsplit("check", "s.jsonl", "--min-requests", "20").exit_code == 0


def test_a_recording_cut_short_is_read_as_far_as_it_goes(poolsplit, server, tmp_path):
    poolsplit("watch", server.url, "--looks", "3", "--interval", "50ms", "--record", "s.jsonl")
    text = (tmp_path / "s.jsonl").read_text()
    (tmp_path / "cut.jsonl").write_text(text[: len(text) - 200])
    assert len(lines(poolsplit("watch", "cut.jsonl", "--json"))) == 2


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "poolsplit-live-session", "version": 1}\n{}\n',
        '{"format": "poolsplit-live-session", "version": 9}\n',
        '{"format": "poolsplit-live-session", "version": 1}\nnothing\n',
        '{"format": "poolsplit-live-session", "version": 1}\n{"tick": 0, "time_s": 1, "metrics": 5}\n',
        '{"format": "poolsplit-live-session", "version": 1}\n{"tick": 0, "time_s": 1e300}\n',
        '{"format": "poolsplit-live-session", "version": 1}\n{"tick": 0, "time_s": NaN}\n',
        "[2026-11-30 00:00:00] a log\n",
    ],
)
def test_a_broken_recording_is_bad_input(poolsplit, tmp_path, text):
    (tmp_path / "s.jsonl").write_text(text)
    poolsplit("watch", "s.jsonl").assert_error(2, "s.jsonl")


def test_a_recording_with_odd_fields_is_read(poolsplit, tmp_path):
    head = b'{"format": "poolsplit-live-session", "version": 1}\n'
    odd = b'{"tick": 0, "time_s": 1, "metrics": ["sglang:num_running_reqs 3"], "info": 7, "loads": [], "warnings": 5}\n'
    (tmp_path / "s.jsonl").write_bytes(head + odd + b'{"tick": 1, "server": "\xe2\x82')
    (document,) = lines(poolsplit("watch", "s.jsonl", "--json"))
    assert document["running"] == 3


def test_an_older_recording_outlives_a_server_that_does_not_answer(poolsplit, tmp_path, server):
    (tmp_path / "s.jsonl").write_text("older")
    poolsplit("watch", "http://127.0.0.1:9", "--once", "--record", "s.jsonl").assert_error(4)
    assert (tmp_path / "s.jsonl").read_text() == "older"
    poolsplit("watch", server.url, "--once", "--record", "s.jsonl")
    assert (tmp_path / "s.jsonl").read_text().startswith('{"format":"poolsplit-live-session"')


def test_metrics_that_are_off_leave_requests_and_a_warning(poolsplit, server):
    server.fail(status={"/metrics": 404})
    result = poolsplit("watch", server.url, "--once", "--json")
    (document,) = lines(result)
    assert (document["running"], document["state"], document["kv"]["capacity"]) == (20, None, 1_000_000)
    assert any("--enable-metrics" in warning for warning in document["warnings"])
    assert (document["retractions"], document["retractions_reason"]) == (None, "the server showed no counters")


def test_the_old_info_path_is_tried(poolsplit, server):
    server.fail(status={"/server_info": 404})
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json"))
    assert document["granted"] == 20


def test_without_an_info_answer_the_gauges_still_speak(poolsplit, server):
    server.fail(status={"/server_info": 500, "/get_server_info": 500})
    result = poolsplit("watch", server.url, "--once")
    assert result.exit_code == 0
    assert "run 20 queue 4" in result.stdout
    assert "warning: no facts of the start-up" in result.stderr


def test_missing_series_are_named(poolsplit, server):
    server.fail(hidden=frozenset({"mamba_used_tokens"}))
    result = poolsplit("watch", server.url, "--once")
    assert "state -" in result.stdout
    assert "warning: 1 series are missing, such as sglang:mamba_used_tokens" in result.stderr


def test_a_gateways_spelling_is_read(poolsplit, server):
    server.fail(spelling="sglang_")
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json"))
    assert document["running"] == 20


@pytest.mark.parametrize(
    "faults",
    [
        {"status": {"/metrics": 500}},
        {"status": {"/metrics": 404, "/v1/loads": 404}},
        {"bodies": {"/metrics": b"<html>hello</html>"}},
        {"bodies": {"/metrics": b"\xff\xfe\x00"}},
        {"status": {"/metrics": 404}, "bodies": {"/v1/loads": b"["}},
        {"status": {"/metrics": 404, "/v1/loads": 200}, "bodies": {"/v1/loads": b"[]"}},
        {"token": "right"},
        {"delay_s": 3.0},
    ],
)
def test_a_server_that_does_not_answer_is_exit_4(poolsplit, server, faults):
    server.fail(**faults)
    poolsplit("watch", server.url, "--once", "--timeout", "1s").assert_error(4, server.url)


def test_nobody_there_is_exit_4(poolsplit):
    poolsplit("watch", "http://127.0.0.1:9", "--once").assert_error(4)


def test_a_key_comes_from_a_file_or_a_variable(poolsplit, server, tmp_path):
    server.fail(token="s3cret")  # noqa: S106 - made up
    (tmp_path / "key").write_text("s3cret\n")
    assert poolsplit("watch", server.url, "--once", "--token-file", "key").exit_code == 0
    assert poolsplit("watch", server.url, "--once", env={"POOLSPLIT_TOKEN": "s3cret"}).exit_code == 0
    wrong = poolsplit("watch", server.url, "--once", env={"POOLSPLIT_TOKEN": "wrong"})
    wrong.assert_error(4, "--token-file")
    assert "wrong" not in wrong.stderr


@pytest.mark.parametrize("key", ["hunter2\nhunter3", "hunter2\x07", "hunter2\u00e9"])
def test_a_key_that_no_header_carries_is_bad_input_and_never_printed(poolsplit, tmp_path, key):
    (tmp_path / "key").write_text(key)
    for result in (
        poolsplit("watch", "http://127.0.0.1:9", "--once", "--token-file", "key"),
        poolsplit("check", "http://127.0.0.1:9", env={"POOLSPLIT_TOKEN": key}),
    ):
        result.assert_error(2, "key")
        assert "hunter" not in result.stderr + result.stdout


def test_a_private_authority_is_trusted_when_it_is_given(poolsplit, tmp_path):
    both, alone = make_certificate(tmp_path)
    with serving(Engine(), certificate=both) as secured:
        assert poolsplit("watch", secured.url, "--once", "--ca-file", alone).exit_code == 0
        poolsplit("watch", secured.url, "--once").assert_error(4, "--ca-file")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("ftp://host",),
        ("http://h", "--plan", "none.json"),
        ("http://h", "--interval", "soon"),
        ("http://h", "--timeout", "0s"),
        ("http://h", "--token-file", "none"),
        ("http://h", "--live", "--json"),
        ("http://h", "--looks", "x"),
        ("http://h", "--looks", "0"),
        ("http://h", "--max-error=-1"),
        ("http://h", "--max-error", "nan"),
        ("http://h", "--reuse-limit", "5"),
        ("http://h:99999",),
        ("http://h:port",),
        ("http://[::1",),
    ],
)
def test_bad_input_is_exit_2(poolsplit, arguments):
    poolsplit("watch", *arguments).assert_error(2)


def test_a_plan_that_is_none_is_bad_input(poolsplit, server, tmp_path):
    for text in ("{}", "[]", "nothing", '{"command": "read"}', '{"command": "plan"}'):
        (tmp_path / "plan.json").write_text(text)
        poolsplit("watch", server.url, "--once", "--plan", "plan.json").assert_error(2, "plan.json")


@pytest.mark.parametrize(
    "recommended",
    [{"state_slots": float("nan")}, {"kv_tokens": float("inf")}, {"flags": 3, "binding": 5}, {"state_slots": -1}],
)
def test_a_broken_figure_of_a_plan_is_not_predicted(poolsplit, server, plan_file, recommended):
    path = plan_file(**recommended)
    (document,) = lines(poolsplit("watch", server.url, "--once", "--json", "--plan", path))
    assert {document["predicted"].get(name) for name in recommended} == {None}
    assert poolsplit("check", server.url, "--plan", path).exit_code in (0, 1)
    assert "Traceback" not in poolsplit("dashboard", path, "-o", "out").stderr


def test_a_fleet_has_a_line_of_its_own(poolsplit, server):
    other = Engine(state=(99, 1, 0), running=19)
    with serving(other) as second:
        documents = lines(poolsplit("watch", server.url, second.url, "--once", "--json"))
        text = poolsplit("watch", server.url, second.url, "--once").stdout
    fleet = documents[-1]["fleet"]
    assert (fleet["replicas"], fleet["running"], fleet["queued"]) == (2, 39, 8)
    assert fleet["tightest"]["server"] == second.url
    assert fleet["tightest"]["pool"] == "state"
    assert "fleet of 2  run 39 queue 8  tightest state on" in text


def test_a_fleet_goes_on_without_one_of_its_servers(poolsplit, server):
    result = poolsplit("watch", server.url, "http://127.0.0.1:9", "--once")
    assert result.exit_code == 0
    assert "http://127.0.0.1:9  no answer" in result.stdout
    documents = lines(poolsplit("watch", server.url, "http://127.0.0.1:9", "--once", "--json"))
    assert all(
        {"schema_version", "command", "engine", "warnings", "derivation"} <= document.keys() for document in documents
    )
    poolsplit("watch", server.url, "http://127.0.0.1:9", "--once", "--check", "-o", "x").assert_error(4)


def test_the_answer_goes_to_a_file_whole(poolsplit, server, tmp_path):
    assert poolsplit("watch", server.url, "--looks", "2", "--interval", "50ms", "--json", "-o", "w.jsonl").stdout == ""
    assert len((tmp_path / "w.jsonl").read_text().splitlines()) == 2


def test_the_drawn_view_shows_both_pools(poolsplit, server):
    result = poolsplit("watch", server.url, "--once", "--live", env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "█" in result.stdout
    assert "kept for reuse" in result.stdout


def test_an_interrupt_ends_a_watch_well(server, tmp_path):
    command = [str(COMMAND), "watch", server.url, "--interval", "100ms", "--record", "s.jsonl"]
    with subprocess.Popen(interruptible(command), cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert "run 20/20" in process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert (tmp_path / "s.jsonl").read_text().endswith("\n")


def test_a_restart_is_told_and_its_facts_are_asked_again(server, tmp_path):
    command = [str(COMMAND), "watch", server.url, "--interval", "150ms", "--looks", "8", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        process.stdout.readline()
        server.engine.restart()
        server.engine.serve(computed=5, cached=5)
        server.engine.granted = 17
        documents = [json.loads(line) for line in process.stdout]
    assert sum(document["restarted"] for document in documents) == 1
    assert documents[-1]["granted"] == 17


def test_the_plan_command_of_a_session_plans_the_server_that_was_seen(poolsplit):
    """The command carries the launch, the measured length and the bytes of both pools."""
    row = json.loads((GOLDEN / "live" / "server_info.jsonl").read_text("utf-8").splitlines()[0])
    slots, tokens = row["solved"]["max_mamba_cache_size"], row["solved"]["max_total_num_tokens"]
    launch = "python -m sglang.launch_server --model-path Qwen/Qwen3.5-27B --tp 2"
    info = {**row["info"], "model_path": "Qwen/Qwen3.5-27B", "launch_command": launch}
    granted = row["solved"]["max_running_requests"]
    engine = Engine(state=(slots - 9, 5, 4), kv=(tokens - 700, 500, 200), granted=granted, info=info)
    engine.serve(finished=100, length=9216)
    with serving(engine) as started:
        poolsplit("watch", started.url, "--once", "--record", "s.jsonl")
    (document,) = lines(poolsplit("watch", "s.jsonl", "--json"))
    command = shlex.split(document["plan_command"])
    at = command.index("--")
    plan = poolsplit(*command[1:at], "--json", *command[at:])
    assert plan.exit_code == 0, plan.stderr
    current, recommended = plan.document["current"], plan.document["recommended"]
    assert current["state_slots"] == pytest.approx(slots, rel=0.005)
    assert current["kv_tokens"] == pytest.approx(tokens, rel=0.005)
    (found,) = [one for one in document["findings"] if one["id"] == "ratio_for_measured_length"]
    assert f"runs {recommended['running_requests']} of them" in found["text"]


PLANNED = ("Qwen/Qwen3.5-27B", "--gpu", "h200", "--tp", "2", "--context", "9216", "--free-before", "139GiB",
           "--free-after", "112GiB", "--sessions", "60", "--session-tokens", "12k")  # fmt: skip


def as_planned(split):
    """An engine that runs a plan's split at its limit."""
    slots, tokens, granted = split["state_slots"], split["kv_tokens"], split["max_running_requests"]
    engine = Engine(
        state=(slots - 2, 1, 1),
        kv=(tokens - 9000, 4000, 5000),
        running=split["running_requests"],
        granted=granted,
        requested=granted,
        live_context=split["running_requests"] * 9000,
    )
    engine.serve(computed=600_000, cached=400_000, finished=100, length=9216)
    return engine


def test_a_server_started_as_a_real_plan_said_is_where_it_said(poolsplit, tmp_path):
    assert poolsplit("plan", *PLANNED, "--json", "-o", "plan.json").exit_code == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    with serving(as_planned(plan["recommended"])) as good, serving(as_planned(plan["current"])) as other:
        result = poolsplit("watch", good.url, "--once", "--check", "--plan", "plan.json", "--json")
        assert result.exit_code == 0, result.stdout
        judged = {row["name"]: row["ok"] for row in lines(result)[0]["comparisons"]}
        assert {name for name, ok in judged.items() if ok} >= {"state_slots", "kv_tokens", "running"}
        assert poolsplit("watch", other.url, "--once", "--check", "--plan", "plan.json").exit_code == 1
        fleet = lines(poolsplit("watch", good.url, other.url, "--once", "--plan", "plan.json", "--json"))[-1]["fleet"]
    assert [room["sessions"] for room in fleet["sessions_per_replica"]] == [0, 0]
    assert fleet["affine_sessions"] == 0


def test_sessions_of_a_real_plan_stay_on_quiet_replicas(poolsplit, tmp_path):
    assert poolsplit("plan", *PLANNED, "--json", "-o", "plan.json").exit_code == 0
    recommended = json.loads((tmp_path / "plan.json").read_text())["recommended"]
    quiet = Engine(
        state=(20, recommended["state_slots"] - 20, 0),
        kv=(40_000, 100_000, recommended["kv_tokens"] - 140_000),
        queued=0,
    )
    with serving(quiet) as one, serving(quiet) as two:
        fleet = lines(poolsplit("watch", one.url, two.url, "--once", "--plan", "plan.json", "--json"))[-1]["fleet"]
    rooms = [room["sessions"] for room in fleet["sessions_per_replica"]]
    assert min(rooms) >= 60
    assert fleet["affine_sessions"] == 2 * fleet["scattered_sessions"] == sum(rooms)
