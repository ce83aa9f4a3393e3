"""`--html` on the real command line."""

import pytest

from one_file import PLOTLY_BANNER, OneFile, source_hash
from support import EXAMPLES

PLAN = ["plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "9216"]
LOG = str(EXAMPLES / "boot-qwen3.5-9b-tp2.log")
RAG = ["trace", "synth", "rag", "--requests", "120", "--seed", "3", "-o", "rag.pst"]
REPLAY = ["replay", "rag.pst", "--state-slots", "200", "--kv-tokens", "200k"]
SURFACE = ["surface", "rag.pst", "--budget", "300MB", "--state-bytes", "800000", "--kv-bytes", "1000"]
HIDDEN = "import sys\nsys.modules['plotly'] = None\n"


@pytest.fixture
def drawn(poolsplit, tmp_path):
    """Runs a command with `--html` and gives its JSON and its page."""

    def run(*command):
        done = poolsplit(*command, "--json", "--html", "page.html")
        assert done.exit_code == 0, done.stderr
        return done.document, OneFile((tmp_path / "page.html").read_text(encoding="utf-8"))

    return run


def test_a_plan_carries_its_document_and_its_picture(drawn):
    document, page = drawn(*PLAN)
    assert page.document == document
    assert len(document["picture"]["curve"]) > 10
    assert "".join(page.scripts).count(PLOTLY_BANNER) == 1
    assert page.policy["script-src"].split() == [source_hash(code) for code in page.scripts]


def test_a_plan_without_a_page_has_no_picture(poolsplit):
    assert "picture" not in poolsplit(*PLAN, "--json").document


def test_a_log_carries_its_report(drawn):
    document, page = drawn("read", LOG)
    assert page.document == document


def test_a_replay_carries_both_pools_over_time(drawn, poolsplit):
    assert poolsplit(*RAG).exit_code == 0
    document, page = drawn(*REPLAY)
    timeline = page.document.pop("timeline")
    assert page.document == document | {"timeline": timeline}
    assert len({len(column) for column in timeline.values()}) == 1
    assert {"state_used_fraction", "kv_used_fraction", "running"} <= set(timeline)


def test_a_surface_carries_its_matrix(drawn, poolsplit):
    assert poolsplit(*RAG).exit_code == 0
    document, page = drawn(*SURFACE)
    assert page.document == document


@pytest.mark.parametrize("name", ["page", "page.svg", "-", ""])
def test_a_name_that_is_none_of_a_page_is_refused_before_the_work(poolsplit, name):
    poolsplit(*PLAN, f"--html={name}").assert_error(2, "--html")


def test_a_folder_that_is_not_there_leaves_nothing(poolsplit, tmp_path):
    poolsplit(*PLAN, "--html", "nowhere/page.html").assert_error(2, "nowhere/page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_plan_leaves_the_page_that_was_there(poolsplit, tmp_path):
    (tmp_path / "page.html").write_text("before")
    done = poolsplit("plan", "Qwen/Nope", "--gpu", "h200", "--context", "9216", "--html", "page.html")
    assert done.exit_code == 2
    assert (tmp_path / "page.html").read_text() == "before"


@pytest.mark.parametrize("more", [["--levers"], ["--batch", "x.jsonl"]])
def test_only_one_replay_is_drawn(poolsplit, more):
    poolsplit(*REPLAY, *more, "--html", "page.html").assert_error(2, "--html")


def test_a_missing_extra_names_its_install_command(poolsplit, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    done = poolsplit(*PLAN, "--html", "page.html", env={"PYTHONPATH": str(tmp_path)})
    done.assert_error(2, "plotly", "pip install 'poolsplit[ui]'")
    assert not (tmp_path / "page.html").exists()
