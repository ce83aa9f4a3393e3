"""The page of published figures is what its commands give now, and what does not agree is explained."""

import subprocess
import sys

import pytest

from published_figures import boots, facts, runs
from support import ROOT

PAGE = ROOT / "docs" / "published.md"
TIMEOUT_S = 900


def test_the_page_is_what_its_commands_give():
    script = ROOT / "scripts" / "make_published.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_figure_has_a_source():
    apart = facts("apart")
    for each in [*boots(), *runs()]:
        assert each.source, each.what
    for each in [*apart["kind"], *apart["missing"], *facts("clamps")["clamp"]]:
        assert each["source"], each["what"]


def test_slow_figures_have_their_date_and_what_was_measured():
    for run in runs():
        if run.date:
            assert all(figure.measured is not None for figure in run.figures), run.what


@pytest.mark.parametrize("name", ["boots", "runs"])
def test_names_and_commands_stand_once(name):
    texts = [boot.name for boot in boots()] if name == "boots" else [run.command for run in runs()]
    assert len(texts) == len(set(texts))


def test_what_does_not_agree_is_explained():
    text = PAGE.read_text(encoding="utf-8")
    unexplained = [run.what for run in runs() if not run.note and disagrees(run, text)]
    assert not unexplained
    for boot in boots():
        row = next(line for line in text.split("\n") if f"| {boot.what} | {boot.build} |" in line)
        agree, count = row.split("|")[5].split(" of ")
        assert int(agree) == int(count) or boot.note, boot.name


def disagrees(run, text):
    """Whether the page shows a difference in a row of the run."""
    rows = [line for line in text.split("\n") if line.startswith("| ") and f"| {run.what} |" in line]
    return any(" %) |" in line for line in rows)


def test_ten_start_ups_found_afterwards_agree_in_every_figure():
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").split("\n") if line.endswith("| yes |")]
    whole = [row for row in rows if len(set(row[5].strip().split(" of "))) == 1]
    assert len(whole) >= 10
