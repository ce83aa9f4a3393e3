"""The joined rooms: which card a server names, which constants its model gives, what a plan is read for."""

import json
from dataclasses import replace

import pytest

from live_server import Engine
from poolsplit.answers.live.expect import expecter
from poolsplit.answers.live.plans import dashboard_files, planned_split_of
from poolsplit.answers.live.watch import connection, known_card
from poolsplit.engines.sglang.server_info import read_server_info
from poolsplit.errors import InputError
from support import GOLDEN

ROW = json.loads((GOLDEN / "live" / "server_info.jsonl").read_text("utf-8").splitlines()[0])
EMBEDDED = "Qwen/Qwen3.5-27B"
PLAN = {
    "command": "plan",
    "model": EMBEDDED,
    "workload": {"mean_tokens": 9216.0},
    "constants": {"state_bytes_per_slot": 10, "kv_bytes_per_token": 2, "slots_per_request": 5, "dcp_size": 2},
    "recommended": {
        "mode": "ratio",
        "state_to_kv_ratio": 1.27,
        "max_mamba_cache_size": None,
        "state_slots": 692,
        "kv_tokens": 1_000_000,
        "max_running_requests": 138,
        "running_requests": 137,
        "binding": "state",
        "flags": ["--mamba-full-memory-ratio 1.27"],
    },
}


def facts(**changes):
    return replace(read_server_info(ROW["info"]), model_path=EMBEDDED, **changes)


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA A100-SXM4-40GB", "a100-40gb"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA GB300", "gb300"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("NVIDIA", None),
        ("", None),
        (None, None),
    ],
)
def test_a_drivers_name_is_one_of_our_cards_or_none(name, card):
    assert known_card(name) == card


def test_an_embedded_model_gives_constants():
    constants = expecter(None)(facts()).constants
    solved = ROW["solved"]
    assert constants.state_bytes_per_slot == solved["stage_per_req"]
    assert constants.kv_bytes_per_token == solved["cell_size"]
    assert constants.slots_per_request == solved["mamba_ratio"]
    assert constants.origin == "catalog"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_path": "no/such"}, "no embedded model"),
        ({"model_path": None}, "no embedded model"),
        ({"draft_path": "some/draft"}, "draft checkpoint"),
        ({"kv_pool_bytes": 10**12}, "KV rows take"),
        ({"kv_pool_bytes": 10**9}, "KV rows take"),
        ({"engine_version": "none"}, "not a release"),
    ],
)
def test_why_there_are_no_constants(changes, reason):
    expected = expecter(None)(replace(facts(), **changes))
    assert expected.constants is None
    assert reason in expected.constants_reason


def test_a_drafts_rows_may_be_missing_in_the_servers_figure():
    lower = facts(draft_states=4, kv_pool_bytes=facts().kv_pool_bytes // 2)
    assert expecter(None)(lower).constants is not None


def test_facts_are_followed_once_and_again_after_a_restart():
    expect = expecter(None)
    assert expect(None) is None
    first = expect(facts())
    assert expect(facts()) is first
    assert expect(facts(state_slots=5)).state_slots == 5


def test_granted_requests_follow_from_the_limits():
    assert expecter(None)(facts()).granted_requests == ROW["solved"]["max_running_requests"]


def test_a_plan_is_read(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    expected = expecter(str(file))(None)
    assert (expected.origin, expected.state_slots, expected.running_requests) == ("plan", 692, 137)
    assert expected.constants.dcp_size == 2
    split = planned_split_of(str(file))
    assert (split.state_to_kv_ratio, split.max_state_slots, split.max_running_requests) == (1.27, None, 138)
    assert "- 500000)" in dashboard_files(str(file), gateway=False)["rules.yml"]


def test_what_a_session_holds_follows_from_the_plans_sums(tmp_path):
    file = tmp_path / "plan.json"
    sessions = {"sessions_per_worker": 100, "kv_tokens_needed": 2_048_000, "checkpoints_per_session": 3.0}
    file.write_text(json.dumps({**PLAN, "sessions": sessions}))
    need = expecter(str(file))(None).session
    assert (need.tokens, need.checkpoints) == (20_480, 3.0)


@pytest.mark.parametrize(
    "recommended",
    [
        {"mode": "pin", "max_mamba_cache_size": None},
        {"mode": "pin", "max_mamba_cache_size": 0},
        {"mode": "ratio", "state_to_kv_ratio": 0},
        {"mode": "ratio", "state_to_kv_ratio": float("inf")},
        {"mode": ["ratio"]},
    ],
)
def test_a_split_that_cannot_be_set_is_refused(tmp_path, recommended):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({**PLAN, "recommended": {**PLAN["recommended"], **recommended}}))
    with pytest.raises(InputError):
        planned_split_of(str(file))


def test_the_key_of_a_connection(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSPLIT_TOKEN", "from the variable")
    assert connection(token_file=None, ca_file=None, timeout_s=1.0).token == "from the variable"  # noqa: S105
    file = tmp_path / "key"
    file.write_text("from-the-file\n")
    assert connection(token_file=str(file), ca_file=None, timeout_s=1.0).token == "from-the-file"  # noqa: S105
    file.write_text("\n")
    with pytest.raises(InputError):
        connection(token_file=str(file), ca_file=None, timeout_s=1.0)


def test_a_made_up_engine_is_followed():
    expected = expecter(None)(read_server_info(Engine().server_info()))
    assert (expected.state_slots, expected.kv_tokens, expected.granted_requests) == (100, 1_000_000, 20)
