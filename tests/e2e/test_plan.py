"""`poolsplit plan` as people run it."""

import json
import sys

import pytest

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct"
HANDED = ("--gpu", "h200", "--tp", "4", "--kv-cache-dtype", "fp8_e4m3", "--mem-fraction-static", "1.0")
REST = ("--free-before", "81.98GiB", "--free-after", "81.98GiB")
K3_LOG = """\
Mamba Cache is allocated. max_mamba_cache_size: 257, conv_state size: 0.46GB, ssm_state size: 13.04GB
KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1167552, KV size: 15.03 GB
"""


def test_the_answer_comes_first(poolsplit):
    done = poolsplit("plan", QWEN, *HANDED, *REST, "--context", "8192")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.partition("\n\n")[0].replace("\n ", "") == (
        "431 requests, the state pool binds (KV 47 % used). --mamba-full-memory-ratio 1.92 -> 599 requests (+39 %)"
    )


def test_the_document_has_the_contract_s_fields(poolsplit):
    plan = poolsplit("plan", QWEN, *HANDED, *REST, "--context", "8k", "--json").document
    assert plan["schema_version"] == 1
    assert plan["command"] == "plan"
    assert plan["engine"] == {"name": "sglang", "version": "0.5.23"}
    assert plan["constants"]["state_bytes_per_slot"] == 19_316_736
    assert plan["constants"]["kv_bytes_per_token"] == 6144
    assert plan["constants"]["token_equiv"] == 3144
    assert plan["constants"]["origin"] == "catalog"
    assert plan["rest_origin"] == "given"
    assert plan["formula_ratio"] == pytest.approx(1.9189, abs=1e-4)
    current, best = plan["current"], plan["recommended"]
    assert (current["state_slots"], current["kv_tokens"], current["max_running_requests"]) == (2157, 7_542_291, 431)
    assert (current["running_requests"], current["binding"]) == (431, "state")
    assert (best["running_requests"], best["mode"], best["state_to_kv_ratio"]) == (599, "ratio", 1.92)
    assert best["max_mamba_cache_size"] is None
    assert best["swa_tokens"] is None
    assert best["flags"] == ["--mamba-full-memory-ratio 1.92"]
    assert plan["launch_command"].endswith("--mamba-full-memory-ratio 1.92")
    assert [stage["state_layers"] for stage in plan["stages"]] == [36]
    names = {step["name"] for step in plan["derivation"]}
    assert {"state_bytes_per_slot", "token_equiv", "formula_ratio", "rest_bytes", "running_requests"} <= names


def test_the_recommendation_gives_its_figures_through_resolve(poolsplit):
    plan = poolsplit("plan", QWEN, *HANDED, *REST, "--context", "32k", "--json").document
    flags = [word for flag in plan["recommended"]["flags"] for word in flag.split()]
    resolved = poolsplit("resolve", QWEN, *HANDED, *REST, *flags, "--json").document
    assert resolved["max_mamba_cache_size"] == plan["recommended"]["state_slots"]
    assert resolved["max_total_num_tokens"] == plan["recommended"]["kv_tokens"]
    assert resolved["max_running_requests"] == plan["recommended"]["max_running_requests"]


def test_a_pasted_launch_comes_back_with_one_flag_more(poolsplit):
    pasted = f"python -m sglang.launch_server --model-path {QWEN} --tp 4 --host 0.0.0.0 --my-fork 3"
    plan = poolsplit("plan", "--gpu", "h200", "--context", "2048", "--json", "--", *pasted.split()).document
    ratio = plan["recommended"]["state_to_kv_ratio"]
    assert plan["launch_command"] == f"{pasted} --mamba-full-memory-ratio {ratio:g}"
    assert any("--my-fork" in warning for warning in plan["warnings"])
    assert plan["rest_origin"] == "estimate"
    low, high = plan["rest_interval_bytes"]
    assert low < plan["rest_bytes"] < high


def test_a_boot_log_alone(poolsplit, tmp_path):
    (tmp_path / "server.log").write_text(K3_LOG)
    plan = poolsplit("plan", "--boot-log", "server.log", "--context", "9216", "--json").document
    constants = plan["constants"]
    assert round(constants["token_equiv"]) == 4065
    assert int(constants["token_equiv_published"]) == 4080
    assert constants["origin"] == "boot_log"
    assert plan["rest_origin"] == "pools"
    assert plan["current"]["running_requests"] == 51
    assert plan["recommended"]["running_requests"] > 51
    assert any("padding slot" in note for note in plan["notes"])


@pytest.mark.parametrize(("more", "replicas"), [((), 1), (("--dp", "2"), 2), (("--dp-size=4",), 4)])
def test_replicas_are_counted_and_their_total_stands_beside(poolsplit, more, replicas):
    plan = poolsplit("plan", QWEN, *HANDED, *REST, *more, "--context", "8k", "--json").document
    assert plan["replicas"] == replicas
    assert plan["running_requests_of_all_replicas"] == replicas * plan["recommended"]["total_running_requests"]
    assert plan["recommended"]["running_requests"] == 599
    assert any("whole replicas" in note for note in plan["notes"]) == (replicas > 1)
    first = poolsplit("plan", QWEN, *HANDED, *REST, *more, "--context", "8k").stdout.splitlines()[0]
    assert first.startswith(f"on each of {replicas} replicas: ") == (replicas > 1)


def test_workers_that_share_the_cards_are_no_replicas(poolsplit):
    dp = ("--dp", "2", "--enable-dp-attention")
    plan = poolsplit("plan", QWEN, *HANDED, *REST, *dp, "--context", "8k", "--json").document
    assert (plan["replicas"], plan["constants"]["workers"]) == (1, 2)


def test_a_boot_log_s_kv_dtype_is_written_into_a_pasted_launch(poolsplit, tmp_path):
    (tmp_path / "server.log").write_text(K3_LOG)
    pasted = "python -m sglang.launch_server --model-path moonshotai/Kimi-K3 --tp 8"
    plan = poolsplit("plan", "--boot-log", "server.log", "--context", "9216", "--json", "--", *pasted.split()).document
    assert plan["launch_command"].startswith(f"{pasted} --kv-cache-dtype fp8_e4m3 --mamba-full-memory-ratio")


def test_input_and_output_add_up_and_lengths_spread(poolsplit, tmp_path):
    pair = poolsplit("plan", QWEN, *HANDED, *REST, "--input", "7k", "--output", "1k", "--json").document
    assert pair["workload"]["mean_tokens"] == 8192
    assert pair["recommended"]["running_requests"] == 599
    (tmp_path / "lengths.csv").write_text("input,output\n" + "1000,1048\n" * 9 + "31000,1768\n")
    spread = poolsplit("plan", QWEN, *HANDED, *REST, "--lengths", "lengths.csv", "--json").document
    assert spread["workload"]["mean_tokens"] == pytest.approx(0.9 * 2048 + 0.1 * 32768)
    assert spread["recommended"]["kv_requests"] < spread["recommended"]["kv_tokens"] / spread["workload"]["mean_tokens"]


def test_no_heavy_import(tmp_path):
    import subprocess

    code = (
        "import sys\n"
        f"sys.argv = ['poolsplit', 'plan', {QWEN!r}, '--gpu', 'h200', '--tp', '4', '--context', '8192']\n"
        "from poolsplit.cli.app import main\n"
        "try:\n    main()\n"
        "finally:\n"
        "    heavy = {'numpy', 'numba', 'torch', 'huggingface_hub', 'rich', 'httpx', 'socket'} & set(sys.modules)\n"
        "    print('HEAVY', sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "HEAVY []", done.stderr


def test_a_plan_that_cannot_fit_names_the_nearest(poolsplit):
    words = (*HANDED, *REST, "--context", "64k", "--concurrency", "4000")
    poolsplit("plan", QWEN, *words).assert_error(3, "do not fit", "such requests fit")


def test_a_launch_that_the_engine_refuses(poolsplit):
    words = (*HANDED, *REST, "--context", "8k", "--page-size", "64", "--mamba-radix-cache-strategy", "no_buffer")
    poolsplit("plan", QWEN, *words).assert_error(1, "no_buffer")


def test_a_log_without_a_pool_line(poolsplit, tmp_path):
    (tmp_path / "server.log").write_text("Load weight begin. avail mem=15.24 GB\nsome other line\n")
    poolsplit("plan", "--boot-log", "server.log", "--context", "8k").assert_error(2, "no pool line")


def test_a_log_that_ends_before_the_pools(poolsplit, tmp_path):
    lines = (
        "[2026-04-14 16:08:44 TP0] Load weight begin. avail mem=22.93 GB\n"
        "[2026-04-14 16:08:49 TP0] Load weight end. elapsed=5.54 s, type=Qwen3_5ForConditionalGeneration, "
        "avail mem=14.08 GB, mem usage=8.85 GB.\n"
    )
    (tmp_path / "server.log").write_text(lines)
    words = ("Qwen/Qwen3.5-9B", "--gpu", "rtx4090", "--tp", "2", "--mem-fraction-static", "0.8", "--context", "8k")
    plan = poolsplit("plan", *words, "--boot-log", "server.log", "--json").document
    assert plan["rest_origin"] == "weights"
    rest_gib = 14.08 - 22.93 * (1 - 0.8) - 0.09765625
    assert plan["rest_bytes"] == pytest.approx(rest_gib * 2**30, abs=2)
    low, high = plan["rest_interval_bytes"]
    assert high - low == pytest.approx(0.02 * 2**30, abs=4)
    poolsplit("plan", "--boot-log", "server.log", "--context", "8k").assert_error(2, "names no model")


def test_a_model_without_state_and_a_config_with_a_nonsense_key(poolsplit, tmp_path):
    config = {"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "num_hidden_layers": "many"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    poolsplit("plan", "config.json", "--gpu", "h200", "--context", "8k").assert_error(2, "config.json")


def test_a_card_outside_the_verified_ones_says_so(poolsplit):
    done = poolsplit("plan", QWEN, "--gpu", "mi300x", "--tp", "4", "--context", "8k")
    assert done.exit_code == 0
    assert "not verified" in done.stderr


@pytest.mark.parametrize(
    "more", [(), ("--speculative-algorithm", "NEXTN", "--max-running-requests", "64"), ("--disable-radix-cache",)]
)
def test_changes_are_named_in_words_and_documents_keep_their_ids(poolsplit, more):
    words = (QWEN, *HANDED, *REST, *more, "--context", "8k")
    text = poolsplit("plan", *words).stdout
    shown = [line for line in text.splitlines() if line.strip().startswith(("no change:", "fewer:", "refused:"))]
    assert shown
    names = {lever["name"] for lever in poolsplit("plan", *words, "--json").document["levers"]}
    assert not [name for name in names if "_" in name and any(f" {name}" in line for line in shown)]
    assert "r* " not in text


def test_more_than_the_whole_card_is_no_plan(poolsplit):
    words = ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8k")
    poolsplit("plan", *words, "--mem-fraction-static", "85").assert_error(2, "--mem-fraction-static 0.85")
