"""Dashboards and rules of a real plan, on a real monitoring server that scrapes a real exporter."""

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
import yaml

from live_server import Engine, serving
from support import run_command

PLAN = (
    "Qwen/Qwen3.5-27B",
    "--gpu",
    "h200",
    "--tp",
    "2",
    "--context",
    "9216",
    "--free-before",
    "139GiB",
    "--free-after",
    "112GiB",
)

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A real plan and its dashboard."""
    made = tmp_path_factory.mktemp("dashboard")
    assert run_command("plan", *PLAN, "--json", "-o", "plan.json", cwd=made).exit_code == 0
    result = run_command("dashboard", "plan.json", "-o", "out", cwd=made)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.split() == ["out/dashboard.json", "out/rules.yml"]
    return made


@pytest.fixture(scope="module")
def rules(folder):
    groups = yaml.safe_load((folder / "out" / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="module")
def dashboard(folder):
    return json.loads((folder / "out" / "dashboard.json").read_text())


def expressions(dashboard):
    """What the graphs ask for, with their variables filled in."""
    filled = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [text.replace("$instance", ".*").replace("$model", ".*") for text in filled]


def test_every_graph_asks_for_recorded_series(rules, dashboard):
    recorded = {rule["record"] for rule in rules if "record" in rule}
    assert {text.partition("{")[0] for text in expressions(dashboard)} <= recorded
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_graphs_do_not_overlap(dashboard):
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_planned_figures_are_drawn_and_alerted_on(folder, rules, dashboard):
    recommended = json.loads((folder / "plan.json").read_text())["recommended"]
    steps = {panel["title"]: panel["fieldConfig"]["defaults"]["thresholds"]["steps"] for panel in dashboard["panels"]}
    assert steps["State slots"][-1]["value"] == recommended["state_slots"]
    assert steps["Requests"][-1]["value"] == recommended["running_requests"]
    alerts = {rule["alert"]: rule["expr"] for rule in rules if "alert" in rule}
    assert f"- {recommended['state_slots']})" in alerts["PoolsplitStateSlotsDiffer"]
    assert f"- {recommended['kv_tokens']})" in alerts["PoolsplitKvTokensDiffer"]
    assert "PoolsplitReuseLost" not in alerts


def test_a_gateway_spells_names_its_own_way(folder):
    assert run_command("dashboard", "plan.json", "-o", "gateway", "--gateway", cwd=folder).exit_code == 0
    text = (folder / "gateway" / "rules.yml").read_text()
    assert "sglang_num_running_reqs" in text
    assert "sglang:" not in text


def test_the_answer_as_json(folder):
    result = run_command("dashboard", "plan.json", "-o", "out2", "--json", cwd=folder)
    assert result.document["files"] == ["out2/dashboard.json", "out2/rules.yml"]
    assert result.document["schema_version"] == 1


@pytest.mark.parametrize("arguments", [("none.json", "-o", "x"), ("plan.json",), ("out/dashboard.json", "-o", "x")])
def test_bad_input_is_exit_2(folder, arguments):
    run_command("dashboard", *arguments, cwd=folder).assert_error(2)


def test_a_folder_that_cannot_be_made(folder):
    run_command("dashboard", "plan.json", "-o", "plan.json/x", cwd=folder).assert_error(2)


@needs_promtool
def test_the_rules_are_correct(folder):
    for name in ("out", "gateway"):
        run_command("dashboard", "plan.json", "-o", name, *(["--gateway"] if name == "gateway" else []), cwd=folder)
        done = subprocess.run(
            ["promtool", "check", "rules", f"{name}/rules.yml"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


LABELS = 'job="s", instance="i", model_name="m", tp_rank="0", pp_rank="0"'


def constant(name, value, labels=LABELS):
    return {"series": f"sglang:{name}{{{labels}}}", "values": f"{value}x60"}


def growing(name, step, labels=LABELS):
    return {"series": f"sglang:{name}{{{labels}}}", "values": f"0+{step}x60"}


def pool(prefix, used, kept, free):
    parts = zip(("used", "evictable", "available"), (used, kept, free), strict=True)
    return [constant(f"{prefix}_{part}_tokens", value) for part, value in parts]


def as_planned(running=138, queued=0, state=(600, 46, 46), kv=(900_000, 200_000, 183_501)):
    return [
        constant("num_running_reqs", running),
        constant("num_queue_reqs", queued),
        constant("decode_sum_seq_lens", running * 9000),
        constant("max_total_num_tokens", sum(kv)),
        *pool("mamba", *state),
        *pool("kv", *kv),
    ]


def requests(length, finished=60, retracted=0):
    server = 'job="s", instance="i", model_name="m", is_streaming="true"'
    return [
        growing("prompt_tokens_total", finished * (length - 128), server),
        growing("generation_tokens_total", finished * 128, server),
        growing("num_requests_total", finished, server),
        growing("num_retracted_requests_total", retracted),
    ]


SITUATIONS = {
    "as planned": (as_planned() + requests(9216), set()),
    "state bound": (as_planned(queued=5, state=(690, 1, 1), kv=(300_000, 0, 983_501)), {"StateBoundKvIdle"}),
    "kv bound": (
        as_planned(running=130, queued=5, state=(100, 500, 92), kv=(1_260_000, 3_000, 20_501)),
        {"KvBoundStateIdle"},
    ),
    "retractions": (as_planned() + requests(9216, retracted=10), {"RetractionStorm"}),
    "another split": (as_planned(state=(400, 46, 46)), {"StateSlotsDiffer"}),
    "other rows": (as_planned(kv=(900_000, 200_000, 100_000)), {"KvTokensDiffer"}),
    "long requests": (as_planned() + requests(30_000), {"TrafficDiffers"}),
    "few run": (as_planned(running=50, queued=3), {"FewerRunThanPlanned"}),
    "host": (
        [
            *as_planned(),
            constant("hicache_host_mamba_used_states", 565),
            constant("hicache_host_mamba_total_states", 565),
            constant("hicache_host_used_tokens", 10_000),
            constant("hicache_host_total_tokens", 2_680_000),
        ],
        {"HostStatesFew"},
    ),
    "nothing": ([constant("other", 1)], {"MetricsAbsent"}),
}


@needs_promtool
@pytest.mark.parametrize("situation", SITUATIONS)
def test_alerts_come_when_they_should_and_only_then(folder, rules, situation, tmp_path):
    series, firing = SITUATIONS[situation]
    at = "45m"
    queries = [
        {
            "expr": f'count(ALERTS{{alertname="{rule["alert"]}", alertstate="firing"}}) or vector(0)',
            "eval_time": at,
            "exp_samples": [{"labels": "{}", "value": int(rule["alert"].removeprefix("Poolsplit") in firing)}],
        }
        for rule in rules
        if "alert" in rule
    ]
    suite = {
        "rule_files": [str(folder / "out" / "rules.yml")],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": queries}],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(suite))
    done = subprocess.run(
        ["promtool", "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def monitoring(folder, tmp_path_factory):
    """A real monitoring server that scrapes a made-up engine; a test that reads rates waits for them."""
    engine = Engine(dp_ranks=(0, 1), tp_ranks=(0, 1), dp_labels=True, host=(10, 2000, 190, 200), queues=(1, 0, 2, 0))
    place = tmp_path_factory.mktemp("prometheus")
    rules = (folder / "out" / "rules.yml").read_text().replace("[5m]", "[5s]")
    (place / "rules.yml").write_text(rules)
    with serving(engine) as server, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        config = {
            "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [
                {"job_name": "engines", "static_configs": [{"targets": [f"127.0.0.1:{server.server_port}"]}]}
            ],
        }
        (place / "prometheus.yml").write_text(yaml.safe_dump(config))
        free.close()
        command = [
            "prometheus",
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
        with subprocess.Popen(command, cwd=place, stderr=subprocess.DEVNULL) as process:
            try:
                yield Monitoring(f"http://127.0.0.1:{port}", engine)
            finally:
                process.terminate()


class Monitoring:
    """The monitoring server, and the engine that it scrapes."""

    def __init__(self, url, engine):
        self.url, self.engine = url, engine
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def query(self, expression):
        """The vector of one query."""
        url = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with self._opener.open(url, timeout=10) as response:
            return json.load(response)["data"]["result"]

    def value(self, expression):
        """The values of all series, sorted."""
        return sorted(float(series["value"][1]) for series in self.query(expression))

    def wait_for_rates(self):
        """Traffic until there are rates; they pass with the window, so each test that reads them waits for its own."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.engine.serve(computed=600, cached=400, finished=10, length=8192)
            self.engine.add("prefill_effective_tokens_total{mode=host_hit}", 200)
            self.engine.add("num_retracted_requests_total", 1)
            time.sleep(0.3)
            try:
                if self.value("poolsplit:mean_request_tokens") and self.value("poolsplit:cached_fraction"):
                    return
            except OSError:
                continue
        raise AssertionError("the monitoring server has no rates after a minute")


@needs_prometheus
def test_every_recorded_series_and_every_graph_has_data(monitoring, rules, dashboard):
    monitoring.wait_for_rates()
    empty = [rule["record"] for rule in rules if "record" in rule and not monitoring.query(rule["record"])]
    assert empty == []
    assert [text for text in expressions(dashboard) if not monitoring.query(text)] == []


@needs_prometheus
def test_recorded_figures_are_those_of_the_engine(monitoring):
    monitoring.wait_for_rates()
    engine = monitoring.engine
    assert monitoring.value("poolsplit:running_requests") == [20, 20]
    assert monitoring.value("poolsplit:state_capacity") == [100, 100]
    assert monitoring.value("poolsplit:state_reclaimable_fraction") == [0.03, 0.03]
    assert monitoring.value("poolsplit:kv_used_fraction") == [0.25, 0.25]
    assert monitoring.value("poolsplit:kv_tokens") == [sum(engine.kv)] * 2
    assert monitoring.value("poolsplit:mean_context_tokens") == [8192, 8192]
    assert monitoring.value("poolsplit:transfer_requests") == [3, 3]
    assert monitoring.value("poolsplit:host_states_fraction") == [0.95, 0.95]
    assert monitoring.value("poolsplit:mean_request_tokens") == pytest.approx([8192])
    assert monitoring.value("poolsplit:cached_fraction") == pytest.approx([0.5], abs=0.02)
    tiers = {series["metric"]["mode"] for series in monitoring.query("poolsplit:cached_fraction_by_tier")}
    assert tiers == {"device_hit", "host_hit"}
