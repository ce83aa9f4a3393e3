"""The real `poolsplit check` on servers, logs, plans and recordings."""

import json

import pytest

from live_server import Engine, serving

HYBRID_LOG = """\
[2026-08-01 10:00:00 TP0] Load weight begin. avail mem=139.00 GB
[2026-08-01 10:01:00 TP0] Load weight end. elapsed=60.00 s, type=Qwen3_5ForConditionalGeneration, avail mem=112.00 GB, mem usage=27.00 GB.
[2026-08-01 10:01:01 TP0] max_running_requests is capped to 117 by the mamba state cache (max_mamba_cache_size=586, 5 state slots per request). To raise it: increase --mamba-full-memory-ratio or --max-mamba-cache-size, or halve the state size with --mamba-ssm-dtype bfloat16.
[2026-08-01 10:01:02 TP0] Mamba Cache is allocated. max_mamba_cache_size: 586, conv_state size: 0.81GB, ssm_state size: 41.27GB\x20
[2026-08-01 10:01:02 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1532495, K size: 23.38 GB, V size: 23.38 GB
[2026-08-01 10:01:03 TP0] Memory pool end. avail mem=23.15 GB
[2026-08-01 10:01:04 TP0] max_total_num_tokens=1532495, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=117, context_len=262144, available_gpu_mem=20.00 GB
[2026-08-01 10:02:00 TP0] Prefill batch, #new-seq: 1, #new-token: 600, #cached-token: 400, full token usage: 0.10, mamba usage: 0.05, #running-req: 1, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 100.00
"""  # noqa: E501 - lines as they are printed


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
def plan(poolsplit, tmp_path):
    """A real plan, as a file."""
    arguments = ("Qwen/Qwen3.5-27B", "--gpu", "h200", "--tp", "2", "--context", "9216")
    memory = ("--free-before", "139GiB", "--free-after", "112GiB", "--mamba-full-memory-ratio", "0.9")
    result = poolsplit("plan", *arguments, *memory, "--json", "-o", "plan.json")
    assert result.exit_code == 0, result.stderr
    return json.loads((tmp_path / "plan.json").read_text())


@pytest.fixture
def log(tmp_path):
    (tmp_path / "server.log").write_text(HYBRID_LOG)
    return "server.log"


def checks(result):
    return {row["name"]: (row["got"], row["ok"]) for row in result.document["checks"]}


def test_a_server_meets_its_conditions(poolsplit, server):
    result = poolsplit("check", server.url, "--min-requests", "20", "--min-cached-fraction", "0.4", "--json")
    assert result.exit_code == 0
    assert checks(result) == {"running_requests": (20, True), "cached_fraction": (0.4, True)}
    assert result.document["ok"] is True
    assert result.document["kind"] == "server"


@pytest.mark.parametrize("condition", [("--min-requests", "21"), ("--min-cached-fraction", "0.41")])
def test_a_server_that_does_not(poolsplit, server, condition):
    result = poolsplit("check", server.url, *condition)
    assert result.exit_code == 1
    assert "not every condition holds" in result.stdout


def test_without_conditions_sizes_must_follow_from_the_start_up(poolsplit, server):
    assert poolsplit("check", server.url).exit_code == 0
    server.engine.granted = 15
    assert poolsplit("check", server.url).exit_code == 1


def test_requests_that_the_rows_do_not_hold_do_not_count(poolsplit, server):
    server.engine.counters.clear()
    server.engine.serve(finished=10, length=100_000)
    result = poolsplit("check", server.url, "--min-requests", "11", "--json")
    assert checks(result) == {"running_requests": (10, False)}
    assert "the KV rows hold 10 of 100000 tokens" in result.document["checks"][0]["reason"]


def test_reuse_over_a_time_and_not_since_the_start(poolsplit, server):
    result = poolsplit("check", server.url, "--min-cached-fraction", "0.1", "--over", "100ms", "--json")
    assert checks(result) == {"cached_fraction": (None, False)}
    assert result.document["checks"][0]["reason"] == "no prompt tokens were counted"


def test_equal_figures_give_equal_bytes(poolsplit, server):
    runs = {poolsplit("check", server.url, "--min-requests", "20", "--json").stdout for _ in range(2)}
    assert len(runs) == 1
    document = poolsplit("check", server.url, "--over", "100ms", "--json").document
    assert (document["target"], document["plan"], document["over_s"]) == (server.url, None, 0.1)


@pytest.mark.usefixtures("plan")
def test_a_server_against_a_plan(poolsplit, server):
    result = poolsplit("check", server.url, "--plan", "plan.json", "--max-error", "0.05", "--json")
    assert result.exit_code == 1
    assert {row["name"] for row in result.document["checks"]} == {
        "error state_slots",
        "error kv_tokens",
        "error max_running_requests",
    }


def test_a_plan_alone(poolsplit, plan):
    running = plan["recommended"]["total_running_requests"]
    assert poolsplit("check", "plan.json", "--min-requests", str(running)).exit_code == 0
    assert poolsplit("check", "plan.json", "--min-requests", str(running + 1)).exit_code == 1
    assert checks(poolsplit("check", "plan.json", "--max-error", "0.01", "--json")) == {"error rest_bytes": (0.0, True)}
    assert poolsplit("check", "plan.json", "--min-cached-fraction", "0.5").exit_code == 1


def test_time_over_a_file_is_bad_input(poolsplit, log):
    poolsplit("check", log, "--over", "10s").assert_error(2, "--over")


def test_a_log_alone(poolsplit, log):
    result = poolsplit("check", log, "--min-requests", "117", "--min-cached-fraction", "0.4", "--json")
    assert checks(result) == {"running_requests": (117, True), "cached_fraction": (0.4, True)}
    assert poolsplit("check", log, "--min-requests", "118").exit_code == 1
    assert poolsplit("check", log).exit_code == 1


def test_a_log_against_a_plan(poolsplit, log, plan, tmp_path):
    sizes = ("state_slots", "kv_tokens", "max_running_requests")
    plan["recommended"] |= {name: plan["current"][name] for name in sizes}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    result = poolsplit("check", log, "--plan", "plan.json", "--max-error", "0.001", "--json")
    assert result.exit_code == 0, result.stdout


@pytest.mark.usefixtures("plan")
def test_the_tolerance_without_a_condition_is_said(poolsplit, log):
    bare = poolsplit("check", log, "--plan", "plan.json").stdout
    assert "no condition is given: a size may be off its prediction by 0.02 of it" in bare
    assert "no condition is given" not in poolsplit("check", log, "--plan", "plan.json", "--max-error", "0.1").stdout
    assert "the plan's own bytes may be off by 1 of it" in poolsplit("check", "plan.json").stdout


def test_how_figures_were_found_is_told_when_asked(poolsplit, server, plan):
    assert "state_slots = 100 slots" in poolsplit("check", server.url, "--explain").stdout
    assert "state_slots = 100 slots" not in poolsplit("check", server.url).stdout
    told = poolsplit("check", "plan.json", "--json").document["derivation"]
    assert told == plan["derivation"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("none.log",),
        ("plan.json", "--plan", "plan.json"),
        ("plan.json", "--max-error", "2"),
        ("plan.json", "--min-requests", "-1"),
        ("empty.log",),
    ],
)
@pytest.mark.usefixtures("plan")
def test_bad_input_is_exit_2(poolsplit, tmp_path, arguments):
    (tmp_path / "empty.log").write_text("nothing here\n")
    poolsplit("check", *arguments).assert_error(2)


def test_nobody_there_is_exit_4(poolsplit):
    poolsplit("check", "http://127.0.0.1:9").assert_error(4)
