"""`poolsplit surface` on the real command line."""

import json
import signal
import struct
import subprocess
import xml.etree.ElementTree as ET
import zlib

import pytest

from support import COMMAND

BUDGET = ["--budget", "300MB", "--state-bytes", "800000", "--kv-bytes", "1000"]
RAG = ["trace", "synth", "rag", "--requests", "120", "--seed", "3", "-o", "rag.pst"]


@pytest.fixture
def made(poolsplit):
    done = poolsplit(*RAG)
    assert done.exit_code == 0, done.stderr
    return poolsplit


def test_the_document_has_every_field_of_the_contract(made, tmp_path):
    done = made("surface", "rag.pst", *BUDGET, "--json", "--picture", "map.svg")
    assert done.exit_code == 0, done.stderr
    found = done.document
    assert (found["schema_version"], found["command"], found["engine"]["name"]) == (1, "surface", "sglang")
    shape = len(found["state_slots"]), len(found["kv_tokens"])
    for matrix in (found["cached_tokens"], found["method"]):
        assert (len(matrix), {len(row) for row in matrix}) == (shape[0], {shape[1]})
    methods = {method for row in found["method"] for method in row}
    assert methods <= {"pass", "marginals", "replay", "scheduler"}
    assert "scheduler" in methods
    replayed = [e for e in found["errors"] if e["method"] == "marginals"]
    assert len(replayed) >= 9
    assert set(replayed[0]) == {"state_slots", "kv_tokens", "method", "better_method", "error_tokens"}
    best = found["best"]
    assert best["state_slots"] in found["state_slots"]
    assert best["kv_tokens"] in found["kv_tokens"]
    assert (best["state_slots"] + 1) * 800_000 + best["kv_tokens"] * 1000 <= 300_000_000
    assert 0 < best["cached_fraction"] <= found["reusable_fraction"]
    assert set(found["gradient"]) == {"state_tokens_per_gib", "kv_tokens_per_gib"}
    assert {"tokens_mean", "tokens_p95", "slots_mean", "slots_p95"} <= set(found["held_by_running"])
    assert found["confirmed"][0]["role"] == "best"
    for confirmed in found["confirmed"]:
        assert confirmed["scheduler_recomputed_tokens"] in {confirmed["ordered_recomputed_tokens"], None}
    assert found["warnings"] is not None
    assert {"name", "value", "unit", "source"} == set(found["derivation"][0])
    root = ET.fromstring((tmp_path / "map.svg").read_text())  # noqa: S314  our own
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == shape[0] * shape[1]


def test_equal_input_gives_equal_bytes(made):
    one, two = (made("surface", "rag.pst", *BUDGET, "--json").stdout for _ in range(2))
    assert one == two


def test_the_screen_leads_with_the_answer_and_draws_the_map(made, tmp_path):
    done = made("surface", "rag.pst", *BUDGET, "--picture", "map.png", "--explain")
    assert done.stdout.startswith("best split   ")
    assert " KV tokens" in done.stdout
    assert "worst error" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.split("derivation")[0].splitlines())) <= 100
    png = (tmp_path / "map.png").read_bytes()
    width, height = struct.unpack(">II", png[16:24])
    length = struct.unpack(">I", png[33:37])[0]
    assert len(zlib.decompress(png[41 : 41 + length])) == height * (1 + 3 * width)


def test_a_surface_without_a_budget_says_what_is_missing(made):
    found = made("surface", "rag.pst", "--json").document
    assert found["best"] is None
    assert found["best_reason"] == "no budget was given"


def test_a_plan_gives_the_budget(made, tmp_path):
    plan = {
        "rest_bytes": 300_000_000,
        "constants": {"state_bytes_per_slot": 800_000, "kv_bytes_per_token": 1000, "dcp_size": 1},
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    by_plan = made("surface", "rag.pst", "--plan", "plan.json", "--json").document
    assert by_plan["best"] == made("surface", "rag.pst", *BUDGET, "--json").document["best"]
    assert "current" not in by_plan


def test_a_plan_says_the_current_split(made, tmp_path):
    plan = {
        "rest_bytes": 300_000_000,
        "constants": {"state_bytes_per_slot": 800_000, "kv_bytes_per_token": 1000, "dcp_size": 1},
        "current": {"state_slots": 20, "kv_tokens": 280_000},
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = made("surface", "rag.pst", "--plan", "plan.json", "--json", "--picture", "map.svg")
    current = done.document["current"]
    assert (current["state_slots"], current["kv_tokens"]) == (20, 280_000)
    assert set(done.document["default"]) - {"state_to_kv_ratio"} <= set(current)
    assert (current["equals_default"], current["within_budget"]) == (False, True)
    assert current["regret_fraction"] >= 0
    assert 20 in done.document["state_slots"]
    assert done.document["confirmed"][-1]["role"] == "current"
    root = ET.fromstring((tmp_path / "map.svg").read_text())  # noqa: S314  our own
    dashed = [shape for shape in root.iter() if "stroke-dasharray" in shape.attrib]
    assert [shape.tag.split("}")[1] for shape in dashed] == ["rect", "path"]
    screen = made("surface", "rag.pst", "--plan", "plan.json").stdout
    assert "now          20 state slots, 280,000 KV tokens:" in screen
    assert "B best split, C current split" in screen


def test_a_current_split_that_is_the_default_is_said_to_be(made, tmp_path):
    default = made("surface", "rag.pst", *BUDGET, "--json").document["default"]
    plan = {
        "rest_bytes": 300_000_000,
        "constants": {"state_bytes_per_slot": 800_000, "kv_bytes_per_token": 1000, "dcp_size": 1},
        "current": {name: default[name] for name in ("state_slots", "kv_tokens")},
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert "KV tokens: the default 0.9\n" in made("surface", "rag.pst", "--plan", "plan.json").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "needle"),
    [
        (["rag.pst", "--budget", "1MB"], 2, "--state-bytes"),
        (["rag.pst", "--budget", "1MB", "--state-bytes", "100000", "--kv-bytes", "1000"], 3, "holds what runs at once"),
        (["rag.pst", "--mode", "closed"], 2, "--sessions"),
        (["rag.pst", *BUDGET, "--picture", "map.gif"], 2, "neither SVG nor PNG"),
        (["rag.pst", *BUDGET[2:], "--budget", "999999TiB"], 2, "no card holds"),
        (["rag.pst", "--plan", "none.json"], 2, "cannot read the plan"),
        (["lengths.csv"], 2, "lengths only"),
    ],
)
def test_what_cannot_be_answered_is_said(made, tmp_path, arguments, code, needle):
    rows = ["TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:17:03.9799600,374,44"]
    (tmp_path / "lengths.csv").write_text("\n".join(rows) + "\n")
    made("surface", *arguments).assert_error(code, needle)


def test_refining_can_be_stopped_for_the_best_so_far(poolsplit, tmp_path):
    assert poolsplit(*RAG[:3], "--requests", "6000", "-o", "big.pst").exit_code == 0
    process = subprocess.Popen(
        [str(COMMAND), "surface", "big.pst", "--refine", "--json", "--no-confirm"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "refining: stop it at any time for the best so far\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    found = json.loads(out)
    assert found["cached_tokens"]
    stopped = any("stopped" in warning for warning in found["warnings"])
    assert stopped or {m for row in found["method"] for m in row} == {"replay"}
