"""The info answer of the engine's own argument resolution and solver, against what is read from it."""

import json

import pytest

from engine_python import HARNESS, engine_version, run_in_engine
from poolsplit.engines.sglang.pool_constants import constants_of
from poolsplit.engines.sglang.server_info import read_server_info, trim_server_info
from poolsplit.hub import find_model
from support import GOLDEN

ROWS = [json.loads(line) for line in (GOLDEN / "live" / "server_info.jsonl").read_text("utf-8").splitlines()]
NAMES = [f"{row['case']['model']} {number}" for number, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def answers():
    """The engine's answers to the committed cases."""
    lines = run_in_engine("dump_server_info.py", [row["case"] for row in ROWS]).splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=NAMES)
def test_the_committed_answers_are_those_of_the_engine(answers, number):
    if engine_version() != "0.5.23":
        pytest.skip("the committed answers are those of 0.5.23")
    row, answer = ROWS[number], answers[number]
    theirs = {**trim_server_info(answer["info"]), "model_path": row["case"]["model"]}
    theirs["served_model_name"] = theirs["model_path"]
    assert {name: theirs[name] for name in row["info"]} == row["info"]
    assert row["solved"] == {name: answer["solved"][name] for name in row["solved"]}


@pytest.mark.parametrize("number", range(len(ROWS)), ids=NAMES)
def test_facts_are_those_that_were_solved(answers, number):
    info, solved = answers[number]["info"], answers[number]["solved"]
    facts = read_server_info(info)
    assert facts.state_slots == solved["max_mamba_cache_size"]
    assert facts.kv_tokens == solved["max_total_num_tokens"]
    assert set(facts.granted_per_worker) == {solved["max_running_requests"]}
    assert facts.slots_per_request == solved["mamba_ratio"]


@pytest.mark.parametrize("number", range(len(ROWS)), ids=NAMES)
def test_constants_follow_from_the_answer_and_the_model(answers, number):
    shape = find_model(str(HARNESS / "models" / f"{ROWS[number]['case']['model']}.json")).shape
    solved = answers[number]["solved"]
    constants = constants_of(shape, read_server_info(answers[number]["info"]))
    assert constants is not None
    assert constants.state_bytes_per_slot == solved["stage_per_req"]
    assert constants.first_stage_kv_bytes_per_token == solved["cell_size"]
    assert constants.slots_per_request == solved["mamba_ratio"]
