"""`poolsplit resolve` as a person runs it."""

import json
import subprocess
import sys

import pytest

from resolve_answers import COMPARED

NEXT = "Qwen/Qwen3-Next-80B-A3B-Instruct"
MEASURED = ("--free-before", "81.98GiB", "--free-after", "81.98GiB", "--mem-fraction-static", "1.0")
PLAIN = (NEXT, "--gpu", "h200", "--tp-size", "4", "--kv-cache-dtype", "fp8_e4m3", *MEASURED)
GLM = (
    "zai-org/GLM-5.3-Flash",
    *("--gpu", "b200", "--tp-size", "2", "--kv-cache-dtype", "fp8_e4m3", "--page-size", "64"),
    *("--mamba-full-memory-ratio", "0.9", "--mem-fraction-static", "1.0"),
    *("--free-before", "62.54515625GiB", "--free-after", "62.54515625GiB"),
)
PIPED = (NEXT, "--gpu", "h200", "--tp-size", "4", "--pp-size", "2", "--speculative-algorithm", "NGRAM", *MEASURED)
FIELDS = {
    "schema_version",
    "command",
    "engine",
    "model",
    "device",
    "flags",
    "memory",
    "ok",
    *COMPARED,
    "launcher_reason",
    "ranks",
    "warnings",
    "derivation",
}


def test_the_answer_comes_first_then_the_figures_of_the_log(poolsplit):
    done = poolsplit("resolve", *PLAIN)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "431 requests, 2,157 state slots at 5 a request, 7,542,291 KV tokens"
    assert "37.93" in done.stdout
    assert "derivation" not in done.stdout
    assert all(len(line) < 140 for line in lines)


def test_the_published_boot_of_glm_in_one_command(poolsplit):
    done = poolsplit("resolve", *GLM)
    assert done.exit_code == 0
    for figure in ("429", "1.00", "28.55", "5,890,560", "32.89", "85 requests"):
        assert figure in done.stdout
    assert "partial" in done.stderr


def test_the_document_has_every_field_and_the_steps_explain_it(poolsplit):
    document = poolsplit("resolve", *PLAIN, "--json").document
    assert document.keys() >= FIELDS
    assert document["engine"] == {"name": "sglang", "version": "0.5.23"}
    assert document["flags"]["tp_size"] == 4
    assert document["max_total_num_tokens"] == 7_542_291
    steps = {step["name"]: step["value"] for step in document["derivation"]}
    assert steps["state_slots"] == document["max_mamba_cache_size"] == 2_157
    assert document["ranks"][0]["ssm_state_gib"] == pytest.approx(37.93, abs=0.005)


def test_explain_prints_the_steps(poolsplit):
    done = poolsplit("resolve", *PLAIN, "--explain")
    assert "state_bytes_per_slot" in done.stdout
    assert "19,316,736" in done.stdout


def test_a_pasted_command_is_the_launch(poolsplit):
    given = ("--gpu", "h200", "--free-before", "130GiB", "--free-after", "60GiB", "--json")
    pasted = ("--", "python", "-m", "sglang.launch_server", "--model-path", NEXT, "--tp", "4", "--port", "30000")
    document = poolsplit("resolve", *given, *pasted).document
    assert document["model"] == NEXT
    assert document["flags"] == {"tp_size": 4}


def test_an_older_release_answers_by_its_own_rules(poolsplit):
    document = poolsplit("resolve", *PLAIN, "--engine-version", "0.5.16", "--json").document
    assert document["engine"]["version"] == "0.5.16"
    assert document["max_mamba_cache_size"] == 2_158


def test_a_release_outside_the_table_is_told(poolsplit):
    done = poolsplit("resolve", *PLAIN, "--tp", "4", "--engine-version", "0.6.1")
    assert done.exit_code == 0
    assert "0.6.1" in done.stderr
    assert done.stdout.startswith("431 requests"), "flags are read by the nearest known release"


def test_a_command_from_another_machine_names_its_model_as_its_own_draft(poolsplit):
    drafts = ("--speculative-algorithm", "EAGLE", "--speculative-draft-model-path", "/elsewhere/model")
    command = ("python", "-m", "sglang.launch_server", "--model-path", "/elsewhere/model", "--tp", "4", *drafts)
    given = (NEXT, "--gpu", "h200", "--free-before", "130GiB", "--free-after", "100GiB", "--json")
    document = poolsplit("resolve", *given, "--", *command).document
    assert document["cell_size"] == [12_288 + 1_024]


def test_a_refused_launch_is_no_answer(poolsplit):
    poolsplit("resolve", *PLAIN, "--mamba-full-memory-ratio", "0").assert_error(1, "no state slot fits")
    done = poolsplit("resolve", *PLAIN, "--mamba-full-memory-ratio", "0", "--json")
    assert done.exit_code == 1
    assert (done.document["ok"], done.document["reason"]) == (False, "state_pool_empty")
    assert done.document["figures"]["max_mamba_cache_size"] == -1
    good = poolsplit("resolve", *PLAIN, "--json").document
    for echoed in ("model", "device", "memory", "warnings", "engine"):
        assert done.document[echoed] == good[echoed], echoed
    assert done.document["flags"] == {**good["flags"], "mamba_full_memory_ratio": 0.0}


@pytest.mark.parametrize(
    ("more", "reason", "stage"),
    [
        (("--gpu", "h200", "--tp-size", "3"), "state_not_dividing", "solver[pp_rank=0]"),
        (("--gpu", "h100"), "weights_do_not_fit", "weights"),
    ],
)
@pytest.mark.parametrize("command", [("resolve",), ("plan", "--context", "8k")])
def test_a_launch_that_cannot_start_is_refused_and_not_bad_input(poolsplit, command, more, reason, stage):
    poolsplit(*command, NEXT, *more).assert_error(1)
    done = poolsplit(*command, NEXT, *more, "--json")
    assert (done.exit_code, done.document["command"], done.document["ok"]) == (1, command[0], False)
    assert (done.document["reason"], done.document["stage"]) == (reason, stage)
    assert done.document["message"]


@pytest.mark.parametrize(
    ("more", "replicas", "words"),
    [
        (("--dp", "2"), 2, "2 whole replicas"),
        (("--dp", "2", "--enable-dp-attention"), 1, "2 workers that share the cards"),
    ],
)
def test_requests_of_all_replicas_and_workers_stand_beside_those_of_one(poolsplit, more, replicas, words):
    done = poolsplit("resolve", *PLAIN, *more, "--json").document
    total = 2 * done["max_running_requests"]
    assert (done["replicas"], done["running_requests_of_all_replicas"]) == (replicas, total)
    assert f"{words}" in (text := poolsplit("resolve", *PLAIN, *more).stdout)
    assert f": {total:,} requests in all" in text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--mem-fraction-static", "9"), "hands both pools more memory than is free"),
        (("--mem-fraction-static", "0.9"), None),
        (("--mem-fraction-static", "1.0"), None),
    ],
)
def test_a_fraction_above_the_whole_is_followed_and_warned_of(poolsplit, more, words):
    done = poolsplit("resolve", *PLAIN, *more)
    assert done.exit_code == 0
    assert ("more memory than is free" in done.stderr) == (words is not None)


def test_estimated_memory_is_said_to_be_one_with_its_interval(poolsplit):
    estimated = poolsplit("resolve", NEXT, "--gpu", "h200", "--tp", "4", "--json").document
    low, high = estimated["both_pools_interval_bytes"]
    (rest,) = [step["value"] for step in estimated["derivation"] if step["name"] == "rest"]
    assert low < rest * 2**30 < high
    text = poolsplit("resolve", NEXT, "--gpu", "h200", "--tp", "4", "--explain").stdout
    assert f"estimated: {low / 2**30:.2f} GiB to {high / 2**30:.2f} GiB for both pools" in text
    for step in estimated["derivation"]:
        if step["name"] in {"free_before", "free_after"}:
            assert step["source"].startswith("estimate: h200")
    measured = poolsplit("resolve", *PLAIN, "--json").document
    assert len(set(measured["both_pools_interval_bytes"])) == 1
    assert "estimated:" not in poolsplit("resolve", *PLAIN).stdout
    assert {step["source"] for step in measured["derivation"] if step["name"].startswith("free_")} == {
        "given: free memory around the weights, as given"
    }


@pytest.mark.parametrize(("weights", "light"), [("1MiB", True), ("7GiB", True), ("12GiB", False), ("38GiB", False)])
def test_weights_far_below_the_checkpoint_are_warned_of(poolsplit, weights, light):
    done = poolsplit("resolve", NEXT, "--gpu", "h200", "--tp", "4", "--weights", weights)
    assert ("is far below the 37.87 GiB" in done.stderr) == light


def test_a_card_that_is_not_verified_is_said_to_be_once(poolsplit):
    for command in (("resolve",), ("plan", "--context", "8k")):
        assert poolsplit(*command, NEXT, "--gpu", "gb200", "--tp", "4").stderr.count("not verified") == 1


def test_what_the_launcher_refuses_is_never_shown_as_an_answer(poolsplit):
    poolsplit("resolve", *PIPED).assert_error(1, "pipeline")
    done = poolsplit("resolve", *PIPED, "--json")
    assert done.exit_code == 1
    assert done.document["launcher_reason"] == "pp_with_speculation"
    assert done.document["message"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("--pp", "--pp-size"), ("--mem-fraction-statik", "--mem-fraction-static"), ("--dp_size", "--dp-size")],
)
def test_a_misspelt_engine_flag_is_told_the_right_one(poolsplit, typed, meant):
    done = poolsplit("resolve", NEXT, "--gpu", "h200", typed, "2")
    done.assert_error(2, f"unknown option: {typed}", f"did you mean the engine's `{meant}`?")


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (("--gpu", "h200"), "no model"),
        ((NEXT,), "card"),
        ((NEXT, "--gpu", "h20000"), "h20000"),
        (("no-such-model", "--gpu", "h200"), "no-such-model"),
        ((NEXT, "--gpu", "h200", "--free-before", "130", "--free-after", "60GiB"), "no unit"),
        ((NEXT, "--gpu", "h200", "--free-before", "130GiB"), "--free-after"),
        ((NEXT, "--gpu", "h200", "--tp-size", "0", "--free-before", "9GiB", "--free-after", "8GiB"), "--tp-size"),
        ((NEXT, "--gpu", "h200", "--no-such-option"), "--no-such-option"),
        (("--batch", "no-such-file.jsonl"), "no-such-file.jsonl"),
    ],
)
def test_bad_input_is_named(poolsplit, arguments, needle):
    poolsplit("resolve", *arguments).assert_error(2, needle)


def test_a_model_without_states_is_bad_input(poolsplit, tmp_path):
    config = json.loads(poolsplit_config(tmp_path).read_text())
    config |= {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    poolsplit("resolve", "config.json", "--gpu", "h200", *MEASURED).assert_error(2, "no state layers")


CASE = {"id": 1, "model": "small", "platform": "h200", "pre_model_load_gb": 139.0, "available_gb": 60.0}


def test_a_batch_from_a_file_a_pipe_and_into_a_file(poolsplit, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    config = json.loads((poolsplit_config(tmp_path)).read_text())
    (models / "small.json").write_text(json.dumps(config))
    lines = "".join(json.dumps({**CASE, "id": number}) + "\n" for number in (1, 2)) + "\n"
    (tmp_path / "cases.jsonl").write_text(lines)
    from_file = poolsplit("resolve", "--batch", "cases.jsonl", "--models", "models")
    assert from_file.exit_code == 0
    assert [json.loads(line)["id"] for line in from_file.stdout.splitlines()] == [1, 2]
    assert poolsplit("resolve", "--batch", "-", "--models", "models", stdin=lines).stdout == from_file.stdout
    assert poolsplit("resolve", "--batch", "cases.jsonl", "--models", "models", "-o", "out.jsonl").exit_code == 0
    assert (tmp_path / "out.jsonl").read_text() == from_file.stdout


@pytest.mark.parametrize(
    ("beside", "named"),
    [
        (("--engine-version", "0.5.17"), "`--engine-version`"),
        (("--gpu", "h100"), "`--gpu`"),
        ((NEXT,), "a model"),
        (("--explain",), "`--explain`"),
        (("--tp", "4"), "`--tp`"),
        (("--", "sglang", "serve", NEXT), "a pasted launch"),
    ],
)
def test_nothing_beside_a_batch_is_dropped(poolsplit, beside, named):
    poolsplit("resolve", "--batch", "-", *beside, stdin="").assert_error(2, f"{named} stands beside --batch")


def test_a_folder_of_models_goes_with_a_batch(poolsplit):
    poolsplit("resolve", *PLAIN, "--models", ".").assert_error(2, "goes with --batch")


def test_two_known_models_are_one_too_many(poolsplit):
    launch = ("sglang", "serve", "--model-path", "moonshotai/Kimi-K3", "--tp", "4")
    poolsplit("resolve", NEXT, "--gpu", "h200", "--", *launch).assert_error(2, "two models are named")


def test_a_batch_with_a_line_that_is_no_case_answers_the_others_and_exits_with_two(poolsplit, tmp_path):
    done = poolsplit("resolve", "--batch", "-", stdin='{"id": 9}\n')
    assert done.exit_code == 2
    assert json.loads(done.stdout)["reason"] == "unreadable"
    assert "no case: 1" in done.stderr
    (tmp_path / "cases.jsonl").write_text('{"id": 9}\n')
    assert poolsplit("resolve", "--batch", "cases.jsonl", "-o", "out.jsonl").exit_code == 2
    assert (tmp_path / "out.jsonl").read_text() == done.stdout


def poolsplit_config(tmp_path):
    """A small hybrid config on disk."""
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "architectures": ["Qwen3NextForCausalLM"],
                "model_type": "qwen3_next",
                "hidden_size": 2048,
                "num_hidden_layers": 8,
                "full_attention_interval": 4,
                "num_attention_heads": 16,
                "num_key_value_heads": 2,
                "head_dim": 256,
                "linear_num_key_heads": 16,
                "linear_num_value_heads": 32,
                "linear_key_head_dim": 128,
                "linear_value_head_dim": 128,
                "linear_conv_kernel_dim": 4,
                "max_position_embeddings": 262144,
                "torch_dtype": "bfloat16",
            }
        )
    )
    return path


def test_planning_a_launch_imports_no_numbers_library():
    code = (
        "import sys\nfrom poolsplit.cli.app import run\n"
        f"code = run({['resolve', *PLAIN]!r})\n"
        "assert code == 0\n"
        "assert not {'numpy', 'numba', 'huggingface_hub', 'torch'} & set(sys.modules), sorted(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SIZED = ("--gpu", "h200", "--free-before", "130GiB", "--free-after", "60GiB", "--json")
SERVE = ("sglang", "serve", "--model-path", NEXT, "--tp", "4")


@pytest.mark.parametrize(
    ("image", "asked", "release", "told"),
    [
        ("lmsysorg/sglang:v0.5.16-cu129", (), "0.5.16", "which chooses the rules"),
        ("lmsysorg/sglang:v0.5.16", ("--engine-version", "0.5.20"), "0.5.20", "0.5.20 are asked for"),
        ("lmsysorg/sglang:v0.5.20", ("--engine-version", "0.5.20"), "0.5.20", None),
        ("lmsysorg/sglang:latest", (), "0.5.23", None),
    ],
)
def test_the_release_of_an_image_chooses_the_rules(poolsplit, image, asked, release, told):
    document = poolsplit("resolve", *SIZED, *asked, "--", "docker", "run", image, *SERVE).document
    assert document["engine"]["version"] == release
    said = [text for text in document["warnings"] if "release" in text]
    assert [told in text for text in said] == ([True] if told else [])
    named = poolsplit("resolve", *SIZED, "--engine-version", release, "--", *SERVE).document
    assert document["max_mamba_cache_size"] == named["max_mamba_cache_size"]


def test_a_file_of_flags_is_told_to_be_unread(poolsplit):
    document = poolsplit("resolve", *SIZED, "--", *SERVE, "--config", "server.yaml").document
    assert any("`server.yaml` of `--config` are not read" in text for text in document["warnings"])


def test_a_refusal_names_the_release_of_the_image(poolsplit):
    launch = ("docker", "run", "lmsysorg/sglang:v0.5.17", *SERVE, "--mamba-full-memory-ratio", "0")
    done = poolsplit("resolve", *SIZED, "--", *launch)
    assert (done.exit_code, done.document["engine"]["version"]) == (1, "0.5.17")


def test_more_free_memory_than_the_card_has_is_refused(poolsplit):
    free = ("--free-before", "1390GiB", "--free-after", "1005GiB")
    poolsplit("resolve", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", *free).assert_error(
        2, "140.40 GiB"
    )


STAGES = ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "2", "--pp-size", "8")
MEASURED = ("--free-before", "139GiB", "--free-after", "60GiB", "--mem-fraction-static", "0.85")


def test_another_release_stands_beside_the_answer(poolsplit):
    result = poolsplit("resolve", *STAGES, *MEASURED, "--compare-version", "0.5.16", "--json")
    changes = {change["field"]: (change["this"], change["other"]) for change in result.document["compared"]["changes"]}
    assert changes["state_slots"] == (3709, 515)
    assert changes["max_running_requests"] == (927, 128)
    assert changes["logical_tokens"] == (10_805_675, 10_810_915)
    text = poolsplit("resolve", *STAGES, *MEASURED, "--compare-version", "0.5.16").stdout
    assert "under 0.5.16:" in text
    assert "(3,709 here)" in text


def test_what_another_release_refuses_is_told(poolsplit):
    kimi = ("moonshotai/Kimi-K3", "--gpu", "b300", "--tp", "8", "--free-before", "266GiB", "--free-after", "80GiB")
    result = poolsplit("resolve", *kimi, "--compare-version", "0.5.16", "--json")
    assert result.exit_code == 0
    assert result.document["compared"]["refused"]["reason"] == "model_not_in_release"
    poolsplit("resolve", *kimi, "--compare-version", "abc").assert_error(2, "`abc`")


@pytest.mark.parametrize(
    ("tp", "more", "exit_code"), [("3", ("--json",), 1), ("4", ("--compare-version", "0.5.16"), 0), ("4", (), 0)]
)
def test_a_launch_from_standard_input_is_read_once_and_looked_at_as_often_as_needed(poolsplit, tp, more, exit_code):
    launch = f"sglang serve {NEXT} --tp {tp}\n"
    done = poolsplit("resolve", "--gpu", "h200", *more, "--", "-", stdin=launch)
    assert done.exit_code == exit_code, done.stderr
    assert done.stdout
