"""Pasted launches: read in every form, and given back with nothing else changed."""

import pytest

from poolsplit.engines.sglang.command.arguments import split_engine_flags
from poolsplit.engines.sglang.command.edit import with_changes
from poolsplit.engines.sglang.command.launch import parse_flags, parse_launch, parse_tokens
from poolsplit.errors import UsageError

CONTINUED = """\
SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1 CUDA_VISIBLE_DEVICES=0,1 \\
python3 -m sglang.launch_server \\
  --model-path Qwen/Qwen3-Next-80B-A3B-Instruct \\
  --tp 2 \\
  --mem-fraction-static=0.85 \\
  --reasoning-parser 'qwen3' \\
  --host 0.0.0.0 > server.log 2>&1 &
tail -f server.log
"""
DOCKER = (
    "docker run --gpus all --shm-size 32g -p 30000:30000 --env HF_TOKEN=x -e SGLANG_MAMBA_SSM_DTYPE=bfloat16 "
    "--ipc=host lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path Qwen/Qwen3.5-27B --tp 2 "
    "--port 30000"
)
COMPOSE_STRING = """\
services:
  sglang:
    image: lmsysorg/sglang:latest
    environment:
      - SGLANG_MAMBA_CONV_DTYPE=float32
    command: >
      python3 -m sglang.launch_server
      --model-path Qwen/Qwen3.5-9B
      --tp-size
      2
    ports:
      - "30000:30000"
"""
COMPOSE_LIST = """\
services:
  sglang:
    environment:
      SGLANG_MAMBA_CONV_DTYPE: "float32"
    command:
      - python3
      - -m
      - sglang.launch_server
      - --model-path
      - "Qwen/Qwen3.5-9B"
      - --max-mamba-cache-size=40
    ports:
      - "30000:30000"
"""
COMPOSE_FLOW = 'command: ["sglang", "serve", "--model-path", "Qwen/Qwen3.5-9B", "--tp", "2"]\n'


def test_a_continued_line_with_assignments():
    launch = parse_launch(CONTINUED)
    assert launch.model == "Qwen/Qwen3-Next-80B-A3B-Instruct"
    assert launch.env["SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK"] == "1"
    assert launch.values["tp_size"] == 2
    assert launch.values["mem_fraction_static"] == 0.85
    assert launch.values["reasoning_parser"] == "qwen3"
    assert launch.values["host"] == "0.0.0.0"  # noqa: S104
    assert launch.flags().tp_size == 2
    assert launch.warnings == ()


def test_only_the_changed_flag_changes():
    launch = parse_launch(CONTINUED)
    changed = with_changes(launch, {"tp_size": 4, "mem_fraction_static": 0.9})
    assert changed == CONTINUED.replace("--tp 2", "--tp 4").replace("=0.85", "=0.9")


def test_a_new_flag_follows_the_style_of_the_line():
    launch = parse_launch(CONTINUED)
    changed = with_changes(launch, {"mamba_full_memory_ratio": 1.92})
    assert changed == CONTINUED.replace("--host 0.0.0.0", "--host 0.0.0.0 \\\n  --mamba-full-memory-ratio 1.92")
    assert parse_launch(changed).values["mamba_full_memory_ratio"] == 1.92


def test_a_flag_is_taken_out_with_its_continuation():
    changed = with_changes(parse_launch(CONTINUED), {"mem_fraction_static": None})
    assert changed == CONTINUED.replace("  --mem-fraction-static=0.85 \\\n", "")


def test_a_switch_is_set_and_unset():
    launch = parse_launch("sglang serve Qwen/Qwen3.5-9B --disable-radix-cache --tp 2")
    assert launch.model == "Qwen/Qwen3.5-9B"
    assert launch.flags().disable_radix_cache
    assert with_changes(launch, {"disable_radix_cache": False}) == "sglang serve Qwen/Qwen3.5-9B --tp 2"
    assert with_changes(launch, {"disable_radix_cache": True}) == launch.text
    added = with_changes(launch, {"enable_linear_replayssm_spec": True})
    assert added == launch.text + " --enable-linear-replayssm-spec"


def test_the_last_of_two_equal_flags_counts_and_both_go():
    launch = parse_launch("sglang serve m --tp 2 --tp-size 4 --dp 1")
    assert launch.values["tp_size"] == 4
    assert with_changes(launch, {"tp_size": 8}) == "sglang serve m --tp-size 8 --dp 1"
    assert with_changes(launch, {"tp_size": None}) == "sglang serve m --dp 1"


def test_docker_run_keeps_its_own_options_apart():
    launch = parse_launch(DOCKER)
    assert launch.in_container
    assert launch.model == "Qwen/Qwen3.5-27B"
    assert launch.env == {"HF_TOKEN": "x", "SGLANG_MAMBA_SSM_DTYPE": "bfloat16"}
    assert set(launch.values) == {"model_path", "tp_size", "port"}
    changed = with_changes(launch, {}, env={"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"})
    assert "latest env SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK=1 python3 -m sglang.launch_server" in changed


def test_a_shell_inside_docker():
    text = "docker run img bash -c 'X_Y=1 python -m sglang.launch_server --model-path m --tp 2'"
    launch = parse_launch(text)
    assert launch.values["tp_size"] == 2
    assert launch.env == {"X_Y": "1"}
    assert with_changes(launch, {"tp_size": 8}) == text.replace("--tp 2", "--tp 8")
    assert with_changes(launch, {"page_size": 64}) == text.replace("--tp 2", "--tp 2 --page-size 64")


@pytest.mark.parametrize("text", [COMPOSE_STRING, COMPOSE_LIST])
def test_compose_commands(text):
    launch = parse_launch(text)
    assert launch.model == "Qwen/Qwen3.5-9B"
    assert launch.env["SGLANG_MAMBA_CONV_DTYPE"] == "float32"
    assert "30000:30000" not in str(launch.values)


def test_a_compose_list_gets_items():
    launch = parse_launch(COMPOSE_LIST)
    changed = with_changes(launch, {"max_mamba_cache_size": 48, "page_size": 64})
    expected = COMPOSE_LIST.replace(
        "- --max-mamba-cache-size=40", '- --max-mamba-cache-size=48\n      - --page-size\n      - "64"'
    )
    assert changed == expected
    removed = with_changes(launch, {"max_mamba_cache_size": None})
    assert removed == COMPOSE_LIST.replace("      - --max-mamba-cache-size=40\n", "")


def test_a_compose_string_keeps_its_lines():
    launch = parse_launch(COMPOSE_STRING)
    assert launch.values["tp_size"] == 2
    changed = with_changes(launch, {"page_size": 64})
    assert changed == COMPOSE_STRING.replace("      2\n", "      2\n      --page-size 64\n")


@pytest.mark.parametrize("text", ["sglang serve m --mamba-ssm-dtype float8", "sglang serve m --mamba-ssm-dtype=fp32"])
def test_a_state_dtype_that_no_release_takes_is_refused(text):
    with pytest.raises(UsageError, match="is not a value of `--mamba-ssm-dtype`"):
        parse_launch(text)
    assert parse_launch("sglang serve m --mamba-ssm-dtype bfloat16").values["mamba_ssm_dtype"] == "bfloat16"


@pytest.mark.parametrize(
    ("flag", "value", "near"),
    [
        ("--attention-backend", "flashinfr", "flashinfer"),
        ("--mamba-backend", "flash", "flashinfer"),
        ("--linear-attn-backend", "tritn", "triton"),
        ("--kv-cache-dtype", "fp8", "fp8_e4m3"),
        ("--mamba-radix-cache-strategy", "extra", "extra_buffer"),
    ],
)
def test_a_value_outside_the_engine_s_own_list_is_refused(flag, value, near):
    with pytest.raises(UsageError, match=f"`{value}` is not a value of `{flag}`") as raised:
        parse_launch(f"sglang serve m {flag} {value}")
    assert f"did you mean `{near}`" in raised.value.hint or f"or `{near}`?" in raised.value.hint
    assert parse_launch(f"sglang serve m {flag} {near}").arguments


def test_eight_bits_begin_with_the_format_that_kv_is_kept_in_most():
    with pytest.raises(UsageError) as raised:
        parse_launch("sglang serve m --kv-cache-dtype fp8")
    assert raised.value.hint.startswith("did you mean `fp8_e4m3` or `fp8_e5m2`?")


def test_the_list_is_that_of_the_release():
    assert parse_launch("sglang serve m --kv-cache-dtype fp4_e2m1", "0.5.20").values["kv_cache_dtype"] == "fp4_e2m1"
    with pytest.raises(UsageError):
        parse_launch("sglang serve m --kv-cache-dtype fp4_e2m1", "0.5.23")


def test_an_unknown_flag_is_kept_and_told_with_what_was_meant():
    launch = parse_launch("sglang serve m --pp 2 --mem-fraction-statik 0.8 --my-fork 1")
    assert [
        f"did you mean `{flag}`" in text
        for flag, text in zip(("--pp-size", "--mem-fraction-static"), launch.warnings[:2], strict=True)
    ] == [True, True]
    assert all("the engine stops at one: kept as it is" in text for text in launch.warnings)


ENTRY = """services:
  one:
    entrypoint: python3 -m sglang.launch_server
    command:
      --model-path m/x
      --tp 2
    healthcheck:
      test: ["CMD", "true"]
  two:
    command: --model-path other
"""
POD = """containers:
  - name: one
    command: ["python3", "-m", "sglang.launch_server"]
    args:
      - --model-path
      - m/x
      - --tp
      - "2"
    env:
      - name: SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK
        value: "1"
  - name: two
    args: ["--model-path", "other"]
"""


def test_a_compose_entrypoint_takes_its_flags_from_the_command():
    launch = parse_launch(ENTRY)
    assert launch.values == {"model_path": "m/x", "tp_size": 2}
    changed = with_changes(launch, {"tp_size": 4, "page_size": 64}, env={"X_Y": "1"})
    expected = ENTRY.replace("--tp 2\n", "--tp 4\n      --page-size 64\n")
    assert changed == expected.replace("python3 -m", "env X_Y=1 python3 -m")


def test_the_command_may_stand_before_its_entrypoint():
    launch = parse_launch(
        "a:\n  command: '--model-path m/x --tp 2'\n  entrypoint: [python3, -m, sglang.launch_server]\n"
    )
    assert launch.values == {"model_path": "m/x", "tp_size": 2}
    assert "'--model-path m/x --tp 4'" in with_changes(launch, {"tp_size": 4})


def test_a_pod_takes_flags_and_variables_from_their_own_keys():
    launch = parse_launch(POD)
    assert launch.values == {"model_path": "m/x", "tp_size": 2}
    assert launch.env == {"SGLANG_OPT_MAMBA_SKIP_DECODE_LOCK": "1"}
    changed = with_changes(launch, {"page_size": 64}, env={"X_Y": "1"})
    expected = POD.replace('- "2"\n', '- "2"\n      - --page-size\n      - "64"\n')
    assert changed == expected.replace('["python3"', '["env", "X_Y=1", "python3"')


def test_flags_of_another_service_are_not_taken():
    launch = parse_launch("a:\n  entrypoint: python3 -m sglang.launch_server\nb:\n  command: --model-path other\n")
    assert launch.values == {}


def test_a_flow_list():
    launch = parse_launch(COMPOSE_FLOW)
    assert launch.values == {"model_path": "Qwen/Qwen3.5-9B", "tp_size": 2}
    assert with_changes(launch, {"tp_size": 4, "page_size": 1}) == COMPOSE_FLOW.replace(
        '"2"', '"4", "--page-size", "1"'
    )


def test_a_logged_dump_becomes_a_command():
    dump = (
        "[2026-10-01 10:00:00] server_args=ServerArgs(model_path='m/x', tp_size=4, page_size=None, "
        "mamba_track_interval=256, mamba_full_memory_ratio=0.5, json_model_override_args='{\"a\": (1, 2)}', "
        "disable_radix_cache=False, odd=<Enum.X: 1>)\nnext line"
    )
    launch = parse_launch(dump)
    assert launch.model == "m/x"
    assert launch.flags().tp_size == 4
    assert launch.flags().mamba_full_memory_ratio == 0.5
    assert "mamba_track_interval" not in launch.values
    command = with_changes(launch, {"mamba_full_memory_ratio": 1.5})
    assert command.startswith("python -m sglang.launch_server --model-path m/x --tp-size 4 ")
    assert parse_launch(command).values == {**launch.values, "mamba_full_memory_ratio": 1.5}


def test_a_dump_as_a_mapping():
    launch = parse_launch("[t] server_args={'model_path': 'm/x', 'tp_size': 2, 'page_size': 64, 'tp_siz': 3}")
    assert launch.values == {"model_path": "m/x", "tp_size": 2, "page_size": 64}


def test_older_spellings_and_unknown_flags():
    launch = parse_launch("sglang serve m --mamba-scheduler-strategy no_buffer --my-fork-flag 3 --my-switch --tp 2")
    assert launch.values["mamba_radix_cache_strategy"] == "no_buffer"
    assert launch.values["tp_size"] == 2
    assert len(launch.warnings) == 3
    changed = with_changes(launch, {"mamba_radix_cache_strategy": "extra_buffer"})
    assert changed == launch.text.replace("no_buffer", "extra_buffer")


def test_the_older_replay_switch_is_the_field_of_its_release():
    text = "sglang serve m --enable-gdn-replayssm-spec"
    assert "enable_gdn_replayssm_spec" in parse_launch(text, "0.5.16").values
    assert "enable_linear_replayssm_spec" in parse_launch(text, "0.5.17").values


def test_attention_replicas_by_one_size():
    flags = parse_launch("sglang serve m --tp 8 --attn-dp-size 4").flags()
    assert (flags.dp_size, flags.enable_dp_attention) == (4, True)


def test_lists_and_abbreviations():
    launch = parse_launch("sglang serve m --cuda-graph-bs-decode 1 2 4 --mamba-full 0.5 --tp 2")
    assert launch.values["cuda_graph_bs_decode"] == (1, 2, 4)
    assert launch.values["mamba_full_memory_ratio"] == 0.5
    assert launch.values["tp_size"] == 2
    assert parse_launch("sglang serve m --pp 2").values == {"model_path": "m"}


def test_flags_alone_and_tokens():
    launch = parse_flags(["--tp", "4", "--kv-cache-dtype=fp8_e4m3"])
    assert launch.flags().kv_cache_dtype == "fp8_e4m3"
    command = with_changes(launch, {"model_path": "m", "mamba_full_memory_ratio": 1.92})
    assert command == (
        "python -m sglang.launch_server --model-path m --tp-size 4 --kv-cache-dtype fp8_e4m3 "
        "--mamba-full-memory-ratio 1.92"
    )
    assert parse_tokens(["python", "-m", "sglang.launch_server", "--model", "a b"]).model == "a b"
    assert parse_tokens([CONTINUED]).values["tp_size"] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve m", "no launch command"),
        ("sglang serve m --tp", "needs a value"),
        ("sglang serve m --tp two", "not a whole number"),
    ],
)
def test_what_cannot_be_read_is_said(text, words):
    with pytest.raises(UsageError, match=words) as caught:
        parse_launch(text)
    assert caught.value.hint


def test_our_options_and_the_engines():
    line = (
        "MODEL --gpu h200 --tp 4 --context 9216 --cuda-graph-bs-decode 1 2 --json --kv-cache-dtype=fp8_e4m3 "
        "--unknown --disable-radix-cache -o out"
    )
    own, engine = split_engine_flags(line.split(), own_options={"--gpu", "--context", "--json", "-o"})
    assert own == ["MODEL", "--gpu", "h200", "--context", "9216", "--json", "--unknown", "-o", "out"]
    assert " ".join(engine) == "--tp 4 --cuda-graph-bs-decode 1 2 --kv-cache-dtype=fp8_e4m3 --disable-radix-cache"
