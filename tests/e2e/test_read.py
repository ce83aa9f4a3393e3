"""`poolsplit read` as a person runs it."""

import gzip
import json
import subprocess
import sys

import pytest

from support import GOLDEN

LOGS = GOLDEN / "bootlogs"
QWEN = LOGS / "sgl-qwen35-9b-tp2-4090.log"
LAUNCH = [
    *("python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3.5-9B", "--tp", "2"),
    *("--mem-fraction-static", "0.8", "--mamba-radix-cache-strategy", "no_buffer", "--disable-overlap-schedule"),
]


def test_one_screen(poolsplit):
    result = poolsplit("read", str(QWEN))
    assert result.exit_code == 0
    assert result.stderr == ""
    for words in ("granted 62", "stopped by the state pool: 186 slots // 3", "186 slots x 24.48 MiB", "327,310 tokens"):
        assert words in result.stdout
    assert len(result.stdout.splitlines()) <= 40
    assert max(map(len, result.stdout.splitlines())) <= 120
    assert result.stdout.isascii()


def test_the_bar_is_to_scale(poolsplit):
    (bar,) = [line for line in poolsplit("read", str(QWEN)).stdout.splitlines() if line.strip().startswith("[")]
    state_share = bar.count("#") / (bar.count("#") + bar.count("="))
    assert state_share == pytest.approx(4.48 / 9.48, abs=0.01)


def test_the_document(poolsplit):
    document = poolsplit("read", str(QWEN), "--json").document
    assert (document["schema_version"], document["command"]) == (1, "read")
    assert document["engine"] == {"name": "sglang", "version": "<=0.5.20"}
    rank = document["boots"][-1]["ranks"]["TP1"]
    assert (rank["max_mamba_cache_size"], rank["kv_tokens"]) == (186, 327310)
    low, high = rank["state_bytes_per_slot_interval"]
    assert low <= 24.5625 * 2**20 <= high
    assert document["missing"] == ["model", "flags", "requested requests"]
    assert document["derivation"]


def test_standard_input_gzip_and_folders_say_the_same(poolsplit, tmp_path):
    text = QWEN.read_text()
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "server.log.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "notes.md").write_text("Mamba Cache is allocated. max_mamba_cache_size: 1")
    plain = poolsplit("read", str(QWEN), "--json").document["boots"]
    for result in (poolsplit("read", "-", "--json", stdin=text), poolsplit("read", str(folder), "--json")):
        boots = result.document["boots"]
        assert [{**boot, "files": None} for boot in boots] == [{**boot, "files": None} for boot in plain]


def test_a_folder_of_two_servers_is_refused(poolsplit, tmp_path):
    for number, model in enumerate(("Qwen3.5-9B", "Kimi-K3")):
        line = f"[2026-11-02 10:00:00 TP{number}] server_args=ServerArgs(model_path='x/{model}', tp_size=2)\n"
        (tmp_path / f"{number}.log").write_text(line + QWEN.read_text())
    poolsplit("read", str(tmp_path)).assert_error(2, "of 2 servers: qwen3.5-9b", "hint: read one server at a time")


def test_utf16_and_windows_line_ends(poolsplit, tmp_path):
    log = tmp_path / "server.log"
    log.write_bytes(QWEN.read_text().replace("\n", "\r\n").encode("utf-16"))
    ranks = poolsplit("read", str(log), "--json").document["boots"][-1]["ranks"]
    assert ranks["TP0"]["max_mamba_cache_size"] == 186


def test_a_launch_command_beside_the_log_is_resolved_under_every_release(poolsplit):
    document = poolsplit("read", str(QWEN), "--json", "--", *LAUNCH).document
    holding = [each["version"] for each in document["predictions"] if each["holds"]]
    assert holding == ["0.5.17", "0.5.16"]
    assert document["predictions"][0]["following"] == 13


def test_check_fails_on_a_launch_that_is_not_this_log(poolsplit):
    other = ["4" if word == "2" else word for word in LAUNCH]
    assert poolsplit("read", str(QWEN), "--check", "--", *LAUNCH).exit_code == 0
    result = poolsplit("read", str(QWEN), "--check", "--json", "--", *other)
    assert result.exit_code == 1
    assert result.document["withheld"] == ["requests_clamped_by_state", "state_dtype_lever"]
    assert result.document["findings"] == []


def test_advice_that_is_not_given_is_named_in_words(poolsplit):
    other = ["4" if word == "2" else word for word in LAUNCH]
    text = " ".join(poolsplit("read", str(QWEN), "--", *other).stdout.split())
    assert "nothing is advised on how many more slots run more requests and what two-byte states would bring" in text
    assert "requests_clamped_by_state" not in text


def test_a_model_that_is_not_named_is_matched(poolsplit):
    result = poolsplit("read", str(LOGS / "sgl-k3class-tp8-fp8kv.log"))
    assert "the pools fit moonshotai/Kimi-K3 at TP8 (float32 state, fp8_e4m3 KV); others may fit too" in result.stdout


def test_flags_may_stand_beside_the_log(poolsplit):
    document = poolsplit(
        "read", str(LOGS / "sgl-cap9-rtx6000ada.log"), "--max-running-requests", "32", "--json"
    ).document
    (finding,) = document["findings"]
    assert (finding["id"], finding["flags"]) == ("requests_clamped_by_state", ["--max-mamba-cache-size 160"])
    assert "32 were asked for" in finding["text"]


@pytest.mark.parametrize(("name", "words"), [("llamacpp-qwen3next-rs", "llama.cpp"), ("vllm-blocksize-544", "vLLM")])
def test_other_engines_are_named_and_get_no_advice(poolsplit, name, words):
    result = poolsplit("read", str(LOGS / f"{name}.log"))
    assert result.exit_code == 0
    assert result.stdout.startswith(words)
    assert "--m" not in result.stdout


def test_what_is_no_log_says_so(poolsplit):
    result = poolsplit("read", "-", "--json", stdin="the quick brown fox\njumps over it\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: this is not a log of a server that we know\nhint: ")
    assert json.loads(result.stdout)["boots"][-1]["kind"] == "not_a_boot"


def test_a_page_with_a_launch_and_a_release_is_no_log(poolsplit):
    page = "Made for SGLang 0.5.16:\n\n    python -m sglang.launch_server --model-path a/b --tp 2\n"
    result = poolsplit("read", "-", stdin=page)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: this is not a log of a server that we know")


@pytest.mark.parametrize("arguments", [("missing.log",), (), (".",)])
def test_nothing_to_read(poolsplit, arguments):
    poolsplit("read", *arguments).assert_error(2)


def test_damaged_gzip(poolsplit, tmp_path):
    log = tmp_path / "server.log.gz"
    log.write_bytes(gzip.compress(QWEN.read_bytes())[:-20])
    poolsplit("read", str(log)).assert_error(2, "damaged")


def test_every_step_is_explained(poolsplit):
    result = poolsplit("read", str(QWEN), "--explain")
    assert "TP0 both pools: 10,157,597,655 to 10,200,547,328 bytes  (sum of the printed pools)" in result.stdout


def test_the_role_of_a_worker(poolsplit):
    text = "server_args={'model_path': 'a/b', 'disaggregation_mode': 'decode'}\n" + QWEN.read_text()
    result = poolsplit("read", "-", stdin=text)
    assert "hybrid, two pools, decode worker" in result.stdout


def test_a_mistyped_option_is_named(poolsplit):
    poolsplit("read", str(QWEN), "--chekc").assert_error(2, "--chekc")


def test_reading_imports_nothing_heavy():
    code = (
        "import sys; from poolsplit.cli.app import run; run(['read', sys.argv[1]]); "
        "print([name for name in ('numpy', 'numba', 'huggingface_hub', 'rich.progress') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(QWEN)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_why_a_named_model_is_not_resolved_is_said(poolsplit, tmp_path):
    log = tmp_path / "server.log"
    log.write_text("server_args=ServerArgs(model_path='nobody/nothing', tp_size=2)\n" + QWEN.read_text())
    assert "not held to the rules of a release: `nobody/nothing` is no embedded model" in poolsplit("read", log).stdout


def test_slots_a_request_come_from_the_rules_where_the_log_leaves_them_open(poolsplit, tmp_path):
    launch = ("ibm-granite/granite-4.0-h-small", "--tp", "1")
    memory = ("--free-before", "78GiB", "--free-after", "15.5GiB")
    solved = poolsplit("resolve", *launch, "--gpu", "h100", *memory, "--json").document
    assert (solved["max_mamba_cache_size"], solved["mamba_ratio"], solved["max_running_requests"]) == (6, 5, 1)
    rank = solved["ranks"][0]
    log = tmp_path / "server.log"
    log.write_text(
        "Load weight begin. avail mem=78.00 GB\n"
        "Load weight end. elapsed=1.00 s, type=X, avail mem=15.50 GB, mem usage=62.50 GB.\n"
        f"Mamba Cache is allocated. max_mamba_cache_size: 6, conv_state size: {rank['conv_state_gib']:.2f}GB, "
        f"ssm_state size: {rank['ssm_state_gib']:.2f}GB \n"
        f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {rank['kv_tokens']}, "
        f"K size: {rank['k_gib']:.2f} GB, V size: {rank['v_gib']:.2f} GB\n"
        f"max_total_num_tokens={rank['kv_tokens']}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=1, context_len=131072, available_gpu_mem=7.00 GB\n"
    )
    bare = poolsplit("read", log, "--json").document["boots"][-1]
    assert (bare["slots_per_request"], bare["binding"]) == (None, None)
    document = poolsplit("read", log, "--gpu", "h100", "--json", "--model-path", *launch).document
    boot, (clamp, *_) = document["boots"][-1], document["findings"]
    assert (boot["slots_per_request"], boot["binding"]) == (5, "state")
    assert (clamp["flags"][0], clamp["price"]["delta_requests"]) == ("--max-mamba-cache-size 10", 1)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_two_byte_states_are_no_advice_to_those_who_have_them(poolsplit, tmp_path, dtype):
    launch = ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "--mamba-ssm-dtype", dtype)
    solved = poolsplit(
        "resolve", *launch, "--gpu", "h100", "--free-before", "78GiB", "--free-after", "48GiB", "--json"
    ).document
    rank = solved["ranks"][0]
    log = tmp_path / "server.log"
    log.write_text(
        f"Mamba Cache is allocated. max_mamba_cache_size: {rank['max_mamba_cache_size']}, conv_state size: "
        f"{rank['conv_state_gib']:.2f}GB, ssm_state size: {rank['ssm_state_gib']:.2f}GB \n"
        f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {rank['kv_tokens']}, "
        f"K size: {rank['k_gib']:.2f} GB, V size: {rank['v_gib']:.2f} GB\n"
        f"max_total_num_tokens={rank['kv_tokens']}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        f"max_running_requests={solved['max_running_requests']}, context_len=262144, available_gpu_mem=7.00 GB\n"
    )
    document = poolsplit("read", log, "--json").document
    assert {match["state_dtype"] for match in document["matches"]} == {dtype}
    ids = {finding["id"] for finding in document["findings"]}
    assert ("state_dtype_lever" in ids) == (dtype == "float32")
