"""The plug-in in the engine's own loader, hooks and solver."""

import json

import pytest

from engine_python import HARNESS, engine_version, installed_metadata, run_in_engine
from support import ROOT, run_command

SLOT_BYTES = 76_972_032
CASES = {
    "plain": {"tp_size": 2, "max_running_requests": 256},
    "data_parallel": {"tp_size": 2, "dp_size": 2, "enable_dp_attention": True},
    "speculation": {
        "tp_size": 2,
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": 3,
        "speculative_eagle_topk": 1,
        "speculative_num_draft_tokens": 4,
    },
    "pipeline": {"tp_size": 2, "pp_size": 2},
}
SLOTS = {"data_parallel": 2 * SLOT_BYTES}
SPLITS = {
    "ratio": ({"mode": "ratio", "state_to_kv_ratio": 0.35}, {"mamba_full_memory_ratio": 0.35}),
    "pin": ({"mode": "pin", "max_mamba_cache_size": 202}, {"max_mamba_cache_size": 202}),
}
FIGURES = ("ok", "error", "max_mamba_cache_size", "logical_tokens", "max_running_requests", "rest_bytes")


def case(args, available_gb=112.0):
    return {"model": "qwen3.5-27b", "args": args, "pre_model_load_gb": 139.0, "available_gb": available_gb}


def plan_with(slot_bytes=SLOT_BYTES, **recommended):
    return {
        "command": "plan",
        "constants": {
            "state_bytes_per_slot": slot_bytes,
            "kv_bytes_per_token": 32_768,
            "slots_per_request": 5,
            "draft_states": 0,
        },
        "recommended": {"state_slots": 1, "kv_tokens": 2, "max_running_requests": 3, **recommended},
    }


RATIO = SPLITS["ratio"][0]
ERRORS = {
    "empty": "",
    "broken": "{",
    "no object": "[]",
    "no ratio": json.dumps(plan_with(mode="ratio", state_to_kv_ratio=-1)),
    "no mode": json.dumps(plan_with(mode="else")),
    "another model": json.dumps(plan_with(slot_bytes=5, **RATIO)),
}


def starts():
    """Name of a start to its launch and, where there is one, its plan's text."""
    found = {}
    for name, args in CASES.items():
        found[name] = (case(args), None)
        for mode, (recommended, flag) in SPLITS.items():
            plan = plan_with(SLOTS.get(name, SLOT_BYTES), **recommended)
            found[f"{name} planned {mode}"] = (case(args), json.dumps(plan))
            found[f"{name} flagged {mode}"] = (case({**args, **flag}), None)
            found[f"{name} both {mode}"] = (case({**args, **flag}), json.dumps(plan_with(**RATIO)))
    for name, text in ERRORS.items():
        found[f"error {name}"] = (case(CASES["plain"]), text)
    refused = case(CASES["plain"], available_gb=20.0)
    found["refused planned"] = (refused, json.dumps(plan_with(**RATIO)))
    found["refused flagged"] = (case({**CASES["plain"], **SPLITS["ratio"][1]}, available_gb=20.0), None)
    return found


PLANNED = {
    "plain": ("--tp", "2", "--max-running-requests", "256"),
    "data_parallel": ("--tp", "2", "--dp", "2", "--enable-dp-attention"),
    "speculation": (
        "--tp",
        "2",
        "--speculative-algorithm",
        "EAGLE",
        "--speculative-num-steps",
        "3",
        "--speculative-eagle-topk",
        "1",
        "--speculative-num-draft-tokens",
        "4",
    ),
}
"""The same launches as flags of a command line."""


def real_plan(name, folder):
    """What `poolsplit plan` says of one launch and the memory of the cases."""
    model, memory = str(HARNESS / "models" / "qwen3.5-27b.json"), ("--free-before", "139GiB", "--free-after", "112GiB")
    options = ("--gpu", "h200", "--context", "9216", "--json", "-o", "plan.json")
    assert run_command("plan", model, *options, *memory, *PLANNED[name], cwd=folder).exit_code == 0
    return (folder / "plan.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Every start, answered by the engine."""
    if engine_version() is None or not HARNESS.is_dir():
        pytest.skip("needs the engine's package and the harness beside the project")
    folder = tmp_path_factory.mktemp("plugin")
    site = folder / "site"
    site.mkdir()
    asked = {}
    planned = {f"{name} as planned": (case(CASES[name]), real_plan(name, folder)) for name in PLANNED}
    for number, (name, (launch, text)) in enumerate({**starts(), **planned}.items()):
        env = {}
        if text is not None:
            file = folder / f"plan{number}.json"
            file.write_text(text, encoding="utf-8")
            env = {"POOLSPLIT_PLAN": str(file)}
        asked[name] = {"case": launch, "env": env}
    missing = str(folder / "nowhere.json")
    asked["error missing"] = {"case": case(CASES["plain"]), "env": {"POOLSPLIT_PLAN": missing}}
    return json.loads(run_in_engine("run_plugin.py", asked, path=(str(ROOT / "src"), installed_metadata(site))))


def figures(answer):
    return {name: answer["result"].get(name) for name in FIGURES}


def own_lines(answer):
    return [(level, text) for name, level, text, _ in answer["lines"] if name == "poolsplit"]


def test_the_loader_finds_the_entry_point_and_without_a_plan_nothing_else_is_loaded(answers):
    answer = answers["plain"]
    assert answer["plugins"] == ["poolsplit.engines.sglang.plugin:register"]
    assert ["sglang.srt.plugins", "INFO", "Executed general plugin: poolsplit", False] in answer["lines"]
    assert own_lines(answer) == []
    assert "poolsplit.api" not in answer["loaded"]


@pytest.mark.parametrize("mode", SPLITS)
@pytest.mark.parametrize("name", CASES)
def test_a_planned_split_gives_what_its_flag_gives(answers, name, mode):
    planned = answers[f"{name} planned {mode}"]
    assert figures(planned) == figures(answers[f"{name} flagged {mode}"])
    assert figures(planned) != figures(answers[name])
    flag, value = next(iter(SPLITS[mode][1].items()))
    assert own_lines(planned)[0] == ("INFO", f"poolsplit: {flag} set to {value} by the plan")


@pytest.mark.parametrize("mode", SPLITS)
@pytest.mark.parametrize("name", CASES)
def test_a_flag_of_the_launch_wins(answers, name, mode):
    both = answers[f"{name} both {mode}"]
    assert figures(both) == figures(answers[f"{name} flagged {mode}"])
    spelled = next(iter(SPLITS[mode][1])).replace("_", "-")
    said = ("INFO", f"poolsplit: the launch sets --{spelled}, so the plan is not used")
    assert set(own_lines(both)) == {said}


def test_predicted_is_logged_beside_resolved(answers):
    answer = answers["plain planned ratio"]
    result = answer["result"]
    predicted = "predicted 1 state slots, 2 KV tokens, 3 running requests"
    figures_of = (result[name] for name in ("max_mamba_cache_size", "logical_tokens", "max_running_requests"))
    resolved = ", ".join(f"{value:,}" for value in figures_of)
    assert own_lines(answer)[-1] == ("INFO", f"poolsplit: {predicted}; resolved {resolved}")


@pytest.mark.parametrize("name", PLANNED)
def test_what_a_real_plan_predicts_is_what_the_engine_resolves(answers, name):
    *_, (level, text) = own_lines(answers[f"{name} as planned"])
    predicted, _, resolved = text.removeprefix("poolsplit: predicted ").partition("; resolved ")
    for words in (" state slots", " KV tokens", " running requests"):
        predicted = predicted.replace(words, "")
    assert (level, predicted) == ("INFO", resolved)


@pytest.mark.parametrize("name", [*ERRORS, "missing"])
def test_any_error_is_one_line_and_the_engine_is_left_alone(answers, name):
    answer = answers[f"error {name}"]
    assert figures(answer) == figures(answers["plain"])
    (line,) = own_lines(answer)
    assert line[0] == "ERROR"
    assert line[1].startswith("poolsplit: the plan is not used, the engine decides: ")
    assert not any(traceback for _, _, _, traceback in answer["lines"])


def test_a_refusal_of_the_engine_stays_its_own(answers):
    assert answers["refused planned"]["result"]["ok"] is False
    assert figures(answers["refused planned"]) == figures(answers["refused flagged"])
