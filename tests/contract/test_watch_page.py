"""The page on watching names what there is: findings, options, figures that are compared, and the exit codes."""

import re

import pytest

from live_looks import Looks
from live_server import Engine
from poolsplit.live.expected import Expected
from poolsplit.live.findings import RULES
from support import ROOT, run_command

PAGE = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")


def first_cells(section):
    """Names in backquotes in the first column of a section's table."""
    table = PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`.+?) \|", table, flags=re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)}


def test_every_finding_is_on_the_page():
    assert first_cells("Findings") == {rule.__name__ for rule in RULES}


def test_every_compared_figure_is_on_the_page():
    judged = Looks(expect=lambda _facts: Expected(origin="plan"))(Engine()).judged[0]
    assert first_cells("Predicted beside measured") == {row.name for row in judged.comparisons}


@pytest.mark.parametrize("command", ["watch", "check", "dashboard"])
def test_every_option_that_the_page_names_is_there(command, tmp_path):
    options = run_command(command, "--help", cwd=tmp_path, env={"COLUMNS": "200"}).stdout
    used = {
        option
        for line in re.findall(rf"^\$ poolsplit {command} (.*)$", PAGE, flags=re.MULTILINE)
        for option in re.findall(r"(?<=\s)-{1,2}[a-z][a-z-]*", line.partition("#")[0])
    }
    assert used
    assert {option for option in used if option not in options} == set()
