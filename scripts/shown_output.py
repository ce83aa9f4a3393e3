"""Rewrites the output under every shown command of the pages, so that what a page shows is what the command gives.

    .venv/bin/python scripts/shown_output.py README.md docs/*.md docs/*/*.md

The commands of a page run one after the other in one folder, so that a later one may use what an earlier one wrote. A
command whose last line is `...` keeps as many lines as it has now.
"""

import re
import sys
import tempfile
from pathlib import Path

from console_blocks import BLOCK, Shown, printed, shown_commands

ROOT = Path(__file__).resolve().parent.parent


def refreshed(shown: Shown, folder: Path) -> list[str]:
    """One command with what it prints now."""
    lines = printed(shown.command, folder)
    if shown.output[-1:] == ("...",):
        lines = [*lines[: len(shown.output) - 1], "..."]
    return ["$ " + "\n".join(shown.typed), *lines]


def rewrite(page: Path) -> None:
    """One page with fresh outputs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")

        def block(found: re.Match[str]) -> str:
            lines = [line for shown in shown_commands(found[1]) for line in refreshed(shown, folder)]
            return "\n".join(["```console", *lines, "```"])

        page.write_text(BLOCK.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> int:
    """Rewrites the pages named on the command line."""
    for name in sys.argv[1:]:
        rewrite(Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
