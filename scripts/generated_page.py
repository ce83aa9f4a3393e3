"""What the scripts that generate pages share: write the page, or say that it is out of date."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import poolsplit

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
PACKAGE = Path(poolsplit.__file__).parent
"""The package that answers: of this checkout, or the one that is installed."""


def settle(files: Mapping[Path, str]) -> int:
    """Writes the files, or with `--check` names those that are out of date; gives the exit code."""
    if "--check" not in sys.argv[1:]:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} is out of date: run {Path(sys.argv[0]).name}", file=sys.stderr)
    return 1 if stale else 0


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def cell(value: object) -> str:
    """One value as it may stand in a table: on one line, nothing that would end the cell."""
    return " ".join(str(value).split()).replace("|", "\\|")
