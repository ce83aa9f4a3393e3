"""What the server answers, without a browser."""

import json

import pytest

from support import run_command
from ui_server import PLAN


def plan_of(ui, **changes):
    reply = ui.ask("POST", "/api/plan", {**PLAN, **changes})
    assert reply.status == 200, reply.body
    return reply.document


def test_the_page_and_its_files(ui):
    index = ui.ask("GET", "/")
    assert index.status == 200
    assert index.headers["content-type"].startswith("text/html")
    assert b"/static/" in index.body
    assert ui.ask("GET", "/plotly.min.js").body.startswith(b"/**\n* plotly.js")


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/nothing.js", "/app.py", "/api/x"]
)
def test_nothing_else_is_served(ui, path):
    ui.ask("GET", path).assert_refused(404)


def test_a_method_that_there_is_none_of(ui):
    ui.ask("GET", "/api/plan").assert_refused(405)


def test_choices_are_those_of_the_command_line(ui, poolsplit):
    choices = ui.ask("GET", "/api/choices").document
    assert choices["models"] == poolsplit("models", "--json").document["models"]
    assert choices["cards"] == poolsplit("gpus", "--json").document["gpus"]
    assert choices["versions"][0] == choices["engine"]["version"]
    assert {sample["name"] for sample in choices["samples"]} == {"chat", "agent", "rag", "mixed"}
    assert choices["orders"] == ["order", "recorded", "closed"]
    assert choices["upload_limit_bytes"] > 200 << 20


def test_a_plan_is_the_command_lines_document(ui, tmp_path):
    line = ("plan", PLAN["model"], "--gpu", "h200", "--tp", "4", "--context", "9216", "--json")
    document = plan_of(ui)
    del document["picture"]
    assert document == run_command(*line, cwd=tmp_path).document


def test_a_plan_with_every_group_of_options(ui, tmp_path):
    line = (
        *("plan", PLAN["model"], "--gpu-memory", "141GiB", "--gpu-arch", "sm90", "--weights", "38GiB", "--tp", "4"),
        *("--lengths", "p50=2k,p90=32k,p99=128k", "--concurrency", "40", "--sessions", "20", "--session-tokens", "16k"),
        *("--compare-version", "0.5.20", "--no-levers", "--json"),
    )
    document = plan_of(
        ui,
        gpu=None,
        gpu_memory="141GiB",
        gpu_arch="sm90",
        weights="38GiB",
        workload={"lengths": "p50=2k,p90=32k,p99=128k", "concurrency": 40},
        sessions={"sessions": 20, "session_tokens": "16k"},
        compare_version="0.5.20",
        levers=False,
    )
    del document["picture"]
    assert document == run_command(*line, cwd=tmp_path).document


def test_a_pasted_launch(ui, tmp_path):
    launch = f"python -m sglang.launch_server \\\n  --model-path {PLAN['model']} \\\n  --tp 4 --port 30000"
    line = ("plan", "--gpu", "h200", "--context", "9216", "--json", "--", *launch.replace("\\\n", "").split())
    document = plan_of(ui, model=None, flags="", launch=launch)
    expected = run_command(*line, cwd=tmp_path).document
    assert document["recommended"] == expected["recommended"]
    assert document["launch"] == expected["launch"]
    assert "\\\n" in document["launch_command"]


def test_the_picture_draws_both_splits_to_one_scale(ui):
    document = plan_of(ui)
    picture, stage = document["picture"], document["stages"][0]
    (rank,) = picture["recommended"]
    assert (rank["state_bytes"], rank["kv_bytes"], rank["idle_bytes"]) == (
        stage["state_bytes"],
        stage["kv_bytes"],
        stage["idle_bytes"],
    )
    fractions = [
        sum(rank[f"{part}_fraction"] for part in ("state", "kv", "idle"))
        for rank in (*picture["current"], *picture["recommended"])
    ]
    assert max(fractions) == pytest.approx(1.0)
    assert rank["pools_text"] == "87.00 GiB"


def test_the_curve_goes_through_both_splits_and_crosses_at_the_balance(ui):
    document = plan_of(ui)
    picture = document["picture"]
    ratios = [point["state_to_kv_ratio"] for point in picture["curve"]]
    assert ratios == sorted(set(ratios))
    for name in ("current", "recommended"):
        mark = picture[f"{name}_point"]
        (point,) = [point for point in picture["curve"] if point["state_to_kv_ratio"] == mark["state_to_kv_ratio"]]
        assert point["running_requests"] == mark["requests"] == document[name]["running_requests"]
    balance = picture["balance"]
    assert balance["requests"] == document["recommended"]["running_requests"]
    for point in picture["curve"]:
        state_stops = point["state_to_kv_ratio"] < balance["state_to_kv_ratio"]
        assert (point["state_requests"] < point["kv_requests"]) is state_stops


def test_a_point_of_the_curve_is_the_plan_at_its_ratio(ui):
    for point in plan_of(ui, levers=False)["picture"]["curve"][::8]:
        ratio = f"--tp 4 --mamba-full-memory-ratio {point['state_to_kv_ratio']!r}"
        current = plan_of(ui, flags=ratio, levers=False)["current"]
        assert {name: current[name] for name in point} == point


def test_where_the_ratio_decides_nothing_there_is_no_curve(ui):
    picture = plan_of(ui, flags="--tp 4 --disable-radix-cache --max-running-requests 16")["picture"]
    assert picture["curve"] == []
    assert picture["balance"] is None
    assert picture["curve_reason"]


def test_a_lever_is_taken_by_its_launch(ui):
    document = plan_of(ui)
    offered = [lever for lever in document["levers"] if lever["status"] == "offered"]
    assert offered
    for lever in offered:
        taken = plan_of(ui, model=None, flags="", launch=lever["launch_command"], levers=False)
        assert taken["current"]["running_requests"] == lever["running_requests"], lever["name"]
        assert taken["current"]["kv_tokens"] == lever["kv_tokens"], lever["name"]


@pytest.mark.parametrize(
    ("changes", "status", "needle"),
    [
        ({"model": "Qwen/Qwen3-Nxt"}, 400, "Qwen"),
        ({"gpu": "h2000"}, 400, "near names"),
        ({"flags": "--tp 'four"}, 400, "quote"),
        ({"flags": "--tp-syze 4"}, 400, "--tp-syze"),
        ({"launch": "-", "flags": ""}, 400, "no launch command"),
        ({"launch": "ls -la", "flags": "", "model": None}, 400, "no launch command"),
        ({"workload": {"context": "9 m"}}, 400, "9 m"),
        ({"workload": {"lengths": "/etc/passwd"}}, 400, "percentiles"),
        ({"workload": {"lengths": "/etc/a=b"}}, 400, "percentiles"),
        ({"workload": {"context": "9216", "concurrency": "many"}}, 400, "`--concurrency` takes a whole number"),
        ({"flags": "--tp 4 " * 20_000}, 400, "longer than"),
        ({"launch": "sglang serve " * 20_000, "flags": "", "model": None}, 400, "longer than"),
        ({"workload": {"trace": "/etc/passwd"}}, 400, "trace"),
        ({"boot_log": "/etc/passwd"}, 400, "boot_log"),
        ({"workload": {"context": "9216", "concurrency": 100000}}, 422, "do not fit"),
        ({"flags": "--tp 4 --page-size 64 --mamba-radix-cache-strategy no_buffer"}, 422, "no_buffer"),
    ],
)
def test_refusals_are_an_error_and_a_hint(ui, changes, status, needle):
    ui.ask("POST", "/api/plan", {**PLAN, **changes}).assert_refused(status, needle)


def test_a_refused_launch_names_its_reason(ui):
    flags = "--tp 4 --page-size 64 --mamba-radix-cache-strategy no_buffer"
    assert ui.ask("POST", "/api/plan", {**PLAN, "flags": flags}).document["reason"] == "no_buffer_page_size"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff", b"[" * 100_000, b'{"levers": "yes"}'])
def test_bodies_that_are_no_request(ui, body):
    ui.ask("POST", "/api/plan", body, Content_Type="application/json").assert_refused(400, "request")


def test_a_hub_model_that_is_not_here_is_not_fetched(ui):
    reply = ui.ask("POST", "/api/plan", {**PLAN, "model": "someone/some-hybrid"})
    reply.assert_refused(400, "HF_HUB_OFFLINE")


def test_answers_are_compact_json(ui):
    body = ui.ask("POST", "/api/plan", PLAN).body
    assert json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":")).encode() == body
