"""Logs printed from the engine's own answers: every figure follows under the release that gave it."""
# ruff: noqa: S311  no secret is drawn

import gzip
import json
import random

import pytest

from boot_log_text import golden_log
from poolsplit import api

RELEASES = tuple(f"0.5.{number}" for number in range(16, 24))
CASES_PER_RELEASE = 16
UNUSUAL = ("config", "draft_model", "draft_config", "set", "env", "device_mem_mib", "extra_mamba_cache_bytes_per_req")


def plain(case, result):
    """Two static pools, known from a log alone."""
    if not result.get("ok") or any(case.get(name) for name in UNUSUAL) or not case.get("rank_reduce_min", True):
        return False
    resolved = result["resolved"]
    return (
        bool(result["mamba_layer_count"])
        and not result["is_hybrid_swa"]
        and not result.get("launcher_reason")
        and not resolved.get("enable_linear_replayssm_spec")
        and not resolved.get("enable_gdn_replayssm_spec")
        and not resolved["enable_unified_memory"]
        and resolved["disaggregation_mode"] == "null"
    )


@pytest.mark.parametrize("version", RELEASES)
def test_every_printed_figure_follows(shared, version, tmp_path):
    folder = shared / "golden" / "solver"
    with gzip.open(folder / f"golden-{version}.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [(row["case"], row["result"]) for row in rows if plain(row["case"], row["result"])]
    log = tmp_path / "server.log"
    for case, result in random.Random(version).sample(rows, CASES_PER_RELEASE):
        model = folder / "models" / f"{case['model']}.json"
        log.write_text(golden_log(case, result, model_path=str(model), version=version))
        answer = api.read_log([str(log)], gpu=case["platform"])
        assert [(each.version, each.holds) for each in answer.predictions] == [(version, True)], case["id"]
        assert answer.report.last.granted_running_requests == result["max_running_requests"]
        assert not api.read_mismatch(answer)


def test_a_log_of_another_launch_is_a_mismatch_and_its_advice_is_withheld(shared, tmp_path):
    folder = shared / "golden" / "solver"
    with gzip.open(folder / "golden-0.5.22.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    case, result = next(
        (r["case"], r["result"]) for r in rows if plain(r["case"], r["result"]) and r["case"]["args"]["tp_size"] == 2
    )
    other = {**case, "args": {**case["args"], "tp_size": 4}}
    log = tmp_path / "server.log"
    model = folder / "models" / f"{case['model']}.json"
    log.write_text(golden_log(other, result, model_path=str(model), version="0.5.22"))
    answer = api.read_log([str(log)], gpu=case["platform"])
    assert api.read_mismatch(answer)
    assert all(finding.price is None for finding in answer.findings)


SAME_REFUSAL = {
    "state_pool_empty": "not_enough_state_memory",
    "below_one_request": "too_small_for_one_request",
    "no_memory_for_kv": "weights_leave_no_memory",
    "kv_pool_empty": "no_kv_tokens",
}


@pytest.mark.parametrize("version", RELEASES[::3])
def test_a_refused_start_is_refused_by_the_rules_too(shared, version, tmp_path):
    folder = shared / "golden" / "solver"
    with gzip.open(folder / f"golden-{version}.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    refused = [
        row
        for row in rows
        if row["result"].get("reason") in SAME_REFUSAL
        and str(row["result"]["stage"]).startswith("solver")
        and not any(row["case"].get(name) for name in UNUSUAL)
        and row["case"].get("rank_reduce_min", True)
    ]
    log = tmp_path / "server.log"
    for row in random.Random(version).sample(refused, min(CASES_PER_RELEASE, len(refused))):
        case, result = row["case"], row["result"]
        free = case["available_gb"] if isinstance(case["available_gb"], list) else [case["available_gb"]]
        arguments = {"model_path": str(folder / "models" / f"{case['model']}.json"), **case["args"]}
        log.write_text(
            f"sglang version {version}\nserver_args={arguments!r}\n"
            f"[2026-11-02 10:00:00 TP0] Load weight begin. avail mem={case['pre_model_load_gb']:.2f} GB\n"
            f"[2026-11-02 10:00:01 TP0] Load weight end. elapsed=1.00 s, type=X, avail mem={min(free):.2f} GB, "
            f"mem usage=1.00 GB.\n{result['error_type']}: {result['error']}\n"
        )
        answer = api.read_log([str(log)], gpu=case["platform"])
        (error,) = answer.report.last.errors
        assert error.id == SAME_REFUSAL[result["reason"]]
        assert answer.report.last.kind == "hybrid"
        assert answer.predictions[0].refused_as_logged, case["id"]
        assert answer.predictions[0].holds, case["id"]
