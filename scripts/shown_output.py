"""Rewrites the output under every shown command of the pages, so that what a page shows is what the command gives.

    .venv/bin/python scripts/shown_output.py README.md docs/*.md

A block whose last line is `...` keeps as many lines as it has now.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sysconfig.get_path("scripts")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: str) -> list[str]:
    """The lines of one command, as a person sees them in a terminal of 100 columns."""
    environment = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "COLUMNS": "100"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(ROOT / "examples")
        done = subprocess.run(
            shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    return [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]


def rewrite(block: re.Match[str]) -> str:
    """One block with fresh output."""
    pieces = ["```console"]
    for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
        shown = part.rstrip("\n").split("\n")
        size = next((at + 1 for at, line in enumerate(shown) if not line.endswith("\\")), len(shown))
        command = " ".join(line.removesuffix("\\").strip() for line in shown[:size])
        lines = run(command)
        if shown[-1] == "...":
            lines = [*lines[: len(shown) - size - 1], "..."]
        pieces += ["$ " + "\n".join(shown[:size]), *lines]
    return "\n".join([*pieces, "```"])


def main() -> int:
    """Rewrites the pages named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(BLOCK.sub(rewrite, page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
