"""The plan document: names and shapes that other programs rely on."""

import pytest

from plan_cases import planned

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
SPLIT = {
    "mode": str,
    "state_slots": int,
    "kv_tokens": int,
    "state_requests": int,
    "kv_requests": int,
    "max_running_requests": int,
    "running_requests": int,
    "pp_max_micro_batch_size": int,
    "binding": str,
    "flags": list,
}
CONSTANTS = {
    "state_bytes_per_slot": int,
    "kv_bytes_per_token": int,
    "token_equiv": float,
    "slots_per_request": int,
    "draft_states": int,
    "dcp_size": int,
    "origin": str,
}
STAGE = ("layers", "state_layers", "kv_layers", "state_bytes", "kv_bytes", "idle_bytes")
LEVER = ("name", "flags", "status", "reason", "running_requests", "kv_tokens", "delta_requests", "risk")
CASES = [
    (QWEN, "--gpu", "h200", "--tp", "4", "--context", "8192"),
    (QWEN, "--gpu", "h200", "--pp-size", "4", "--context", "8192", "--concurrency", "40"),
    (QWEN, "--gpu", "h200", "--tp", "4", "--lengths", "p50=2k,p90=32k", "--sessions", "40", "--session-tokens", "8k"),
    ("moonshotai/Kimi-K3", "--gpu", "b300", "--tp", "16", "--context", "32k"),
]


@pytest.mark.parametrize("words", CASES)
def test_fields_and_their_types(words):
    plan = planned(*words)
    top = {"schema_version", "command", "engine", "model", "device", "workload", "constants", "rest_bytes"}
    top |= {"rest_origin", "formula_ratio", "current", "recommended", "launch_command", "levers", "stages"}
    top |= {"sessions", "headroom", "warnings", "derivation"}
    assert top <= set(plan)
    for split in (plan["current"], plan["recommended"]):
        assert {name: type(split[name]) for name in SPLIT} == SPLIT
        assert split["mode"] in {"ratio", "pin"}
        assert split["binding"] in {"state", "kv", "balanced", "request_cap"}
        assert (split["state_to_kv_ratio"] is None) == (split["mode"] == "pin")
        assert (split["max_mamba_cache_size"] is None) == (split["mode"] == "ratio")
        least = min(split["state_requests"], split["kv_requests"], split["max_running_requests"])
        assert split["running_requests"] == least
    constants = plan["constants"]
    assert {name: type(constants[name]) for name in CONSTANTS} == CONSTANTS
    assert type(plan["rest_bytes"]) is int
    assert plan["rest_origin"] in {"given", "pools", "weights", "estimate"}
    assert all(set(STAGE) <= set(stage) for stage in plan["stages"])
    assert all(set(LEVER) <= set(lever) for lever in plan["levers"])
    assert all({"name", "value", "unit", "source"} == set(step) for step in plan["derivation"])
    assert all({"name", "bytes", "reserved_bytes"} <= set(buffer) for buffer in plan["headroom"])
    assert len({step["name"] for step in plan["derivation"]}) == len(plan["derivation"])


def test_sessions_are_null_unless_asked():
    assert planned(*CASES[0])["sessions"] is None
    sessions = planned(*CASES[2])["sessions"]
    assert {"state_slots_needed", "kv_tokens_needed", "fits", "binding"} <= set(sessions)


def test_the_same_question_gives_the_same_bytes():
    import json

    assert json.dumps(planned(*CASES[0])) == json.dumps(planned(*CASES[0]))


def test_a_reason_stands_beside_an_unknown():
    words = ("moonshotai/Kimi-K3", "--gpu", "h200", "--tp", "8", "--kv-cache-dtype", "fp8_e4m3", "--context", "1k")
    rest = ("--mem-fraction-static", "1.0", "--free-before", "0.7GiB", "--free-after", "0.7GiB")
    plan = planned(*words, *rest)
    assert plan["current"] is None
    assert plan["current_reason"]
