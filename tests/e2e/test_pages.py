"""Every command that a page shows runs, and the output that the page shows is the output it gives."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from support import COMMAND, EXAMPLES, ROOT

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def sessions(page):
    """The shown commands of one page with their shown output, in order."""
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more.strip()
            yield command, output


def test_the_readme_shows_commands():
    assert len(list(sessions(ROOT / "README.md"))) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_shown_output_is_the_output(page, tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    environment = {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    for command, shown in sessions(page):
        words = shlex.split(command)
        assert words[0] == "poolsplit", command
        done = subprocess.run(
            [str(COMMAND), *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        expected = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
        got = [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]
        if expected[-1] == "...":
            expected, got = expected[:-1], got[: len(expected) - 1]
        assert got == expected, f"{page.name}: {command}"
