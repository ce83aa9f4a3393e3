"""The agent skill: its form, every command in it, and the answers that it and others published."""

import re
import shlex
import shutil

import pytest
import yaml

from console_blocks import BLOCK, printed, shown_commands
from support import ROOT, run_command

FOLDER = ROOT / "skills" / "size-hybrid-pools"
TEXT = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
INDEX = (ROOT / "llms.txt").read_text(encoding="utf-8")
SHOWN = [each for block in BLOCK.findall(TEXT) for each in shown_commands(block)]
PATHS = {
    command: re.findall(r"`([a-z0-9_.]+)`", paths)
    for command, paths in re.findall(r"^- `(plan|resolve|read|replay)`: (.*)$", TEXT, re.MULTILINE)
}
MAX_LINES = 120
MAX_DESCRIPTION = 1024


def example(name):
    """The words of the skill's own command of this name, without `poolsplit`."""
    return next(words[1:] for words in (shlex.split(each.command) for each in SHOWN) if words[1] == name)


def document(name, folder):
    """The JSON of the skill's own command of this name."""
    words = example(name)
    at = words.index("--") if "--" in words else len(words)
    done = run_command(*words[:at], "--json", "--quiet", *words[at:], cwd=folder)
    assert done.exit_code == 0, done.stderr
    return done.document


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the skill, as an agent would have it, with the trace that it makes."""
    copy = tmp_path_factory.mktemp("skill") / FOLDER.name
    shutil.copytree(FOLDER, copy)
    made = run_command(*example("trace"), cwd=copy)
    assert made.exit_code == 0, made.stderr
    return copy


def test_the_front_matter_is_what_skills_need():
    head = yaml.safe_load(TEXT.split("---\n")[1])
    assert head["name"] == FOLDER.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert 1 <= len(head["description"]) <= MAX_DESCRIPTION
    assert set(head) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def test_it_is_short():
    assert TEXT.count("\n") < MAX_LINES


@pytest.mark.parametrize("at", range(len(SHOWN)), ids=lambda at: SHOWN[at].command[:40])
def test_shown_output_is_the_output(at, folder):
    expected, got = list(SHOWN[at].output), printed(SHOWN[at].command, folder)
    if expected[-1:] == ["..."]:
        expected, got = expected[:-1], got[: len(expected) - 1]
    assert got == expected


@pytest.mark.parametrize("name", sorted(PATHS))
def test_the_named_fields_are_in_the_documents(name, folder):
    found = document(name, folder)
    assert len(PATHS[name]) >= 5
    for path in PATHS[name]:
        value = found
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]


def test_answers_are_the_published_ones(folder):
    """Issue 38846 of SGLang: 32 streams were asked for, 47 slots held 9."""
    launch = document("resolve", folder)
    assert (launch["max_mamba_cache_size"], launch["max_running_requests"]) == (47, 9)
    boot = document("read", folder)["boots"][0]
    assert (boot["requested_running_requests"], boot["granted_running_requests"], boot["binding"]) == (32, 9, "state")
    plan = document("plan", folder)
    assert plan["current"]["running_requests"] == 453
    assert plan["recommended"]["running_requests"] == 629


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`poolsplit ([a-z]+)", TEXT))))
def test_every_command_it_names_is_there(command, folder):
    assert run_command(command, "--help", cwd=folder).exit_code == 0


def test_topics_it_names_are_explained(folder):
    topics = run_command("explain", "--json", cwd=folder).stdout
    for topic in ("clamp", "ratio", "speculation", "stages"):
        assert f"`{topic}`" in TEXT
        assert topic in topics
        assert run_command("explain", topic, cwd=folder).exit_code == 0


def test_exit_codes_are_the_ones_it_tells(folder):
    refused = ("resolve", "Qwen/Qwen3.5-27B", "--gpu", "h100", "--free-before", "79GiB", "--free-after", "20GiB")
    kept = ("plan", "Qwen/Qwen3.5-27B", "--gpu", "h200", "--context", "200000", "--sessions", "9999")
    lengths = ("--session-tokens", "100000")
    assert run_command(*refused, "--mem-fraction-static", "0.5", cwd=folder).exit_code == 1
    assert run_command("read", "absent.log", cwd=folder).exit_code == 2
    assert run_command(*kept, *lengths, cwd=folder).exit_code == 3
    assert run_command("watch", "http://127.0.0.1:9", "--once", "--check", cwd=folder).exit_code == 4


def test_the_index_for_models_has_its_form_and_no_dead_link():
    lines = INDEX.split("\n")
    assert lines[0] == "# poolsplit"
    assert lines[2].startswith("> ")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S", INDEX, re.MULTILINE)
    assert len(links) == INDEX.count("\n- ")
    for link in links:
        assert (ROOT / link).is_file(), link
    assert [line for line in lines if line.startswith("## ")][-1] == "## Optional"


@pytest.mark.parametrize("name", ["plan", "resolve", "read", "replay", "surface", "traces", "watch", "models"])
def test_every_page_of_a_command_is_in_the_index(name):
    assert f"(docs/{name}.md)" in INDEX
