"""The command line as a whole: its parts, its errors and what it must not load."""

import subprocess
import sys

import pytest

from poolsplit.cli.app import COMMANDS


def test_version_is_the_package_version(poolsplit):
    import poolsplit as package

    assert poolsplit("--version").stdout.strip() == package.__version__


def test_help_names_every_command(poolsplit):
    result = poolsplit("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f" {command} " in result.stdout


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("plan", "The engine's own flags are accepted"),
        ("resolve", "The engine's own flags are accepted"),
        ("read", "The engine's own flags are accepted"),
        ("check", "must lie within 0.02"),
    ],
)
def test_help_says_what_the_options_do_not(poolsplit, command, words):
    assert words in " ".join(poolsplit(command, "--help").stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_refuses_an_unknown_option(poolsplit, command):
    assert poolsplit(command, "--help").exit_code == 0
    poolsplit(command, "--no-such-option-here").assert_error(2)


def test_an_unknown_command_names_the_near_one(poolsplit):
    poolsplit("pln").assert_error(2, "`pln`", "poolsplit plan")


def test_an_option_before_the_command_is_told_where_it_belongs(poolsplit):
    poolsplit("--json", "plan").assert_error(2, "`--json`")


def test_a_word_without_a_place_is_named(poolsplit):
    poolsplit("gpus", "h100").assert_error(2, "`h100`", "poolsplit gpus --help")


@pytest.mark.parametrize("target", ["", ".", "no-such-folder/answer.json"])
def test_an_answer_that_cannot_be_written(poolsplit, target):
    poolsplit("gpus", "-o", target).assert_error(2, "cannot write there", "hint:")


@pytest.mark.parametrize("closing", [">&-", ">/dev/full"])
def test_a_standard_output_that_takes_nothing_is_an_error(closing):
    line = f"{sys.executable} -m poolsplit.cli gpus {closing}"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: stdout: ")
    assert ended.stderr.count("\n") == 2


def test_a_file_takes_the_answer_when_standard_output_is_closed(tmp_path):
    target = tmp_path / "cards.txt"
    line = f"{sys.executable} -m poolsplit.cli gpus -o {target} >&-"
    assert subprocess.run(["sh", "-c", line], check=False).returncode == 0
    assert "h100" in target.read_text()


def test_errors_never_reach_standard_output():
    line = f"{sys.executable} -m poolsplit.cli models no-such-model 2>&-"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


def test_only_launches_follow_the_double_dash(poolsplit):
    poolsplit("models", "--", "python", "-m", "sglang.launch_server").assert_error(2)


@pytest.mark.parametrize("arguments", [("--help",), ("plan", "--help"), ("resolve", "--help"), ("read", "--help")])
def test_light_commands_load_no_arrays_and_no_network(arguments):
    code = (
        "import sys; from poolsplit.cli.app import run\n"
        f"try: run({list(arguments)!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'torch', 'huggingface_hub', 'httpx', 'urllib.request'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ("models",),
        ("trace", "synth", "agent", "--explain"),
        ("resolve", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--explain"),
        ("plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8k", "--explain"),
        ("explain", "ratio"),
    ],
)
def test_no_screen_is_wider_than_a_hundred_columns(poolsplit, arguments):
    text = poolsplit(*arguments).stdout
    lines, wide = text.splitlines(), []
    for before, line in zip(["", *lines], lines, strict=False):
        if len(line) > 100 and before != "launch:":
            wide.append(line)
    assert wide == []
