"""Fails when the package holds a room that docs/architecture.md does not name, or the page names one that is gone."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "poolsplit"
SPLIT = ("shapes", "engines", "engines/sglang")
"""Folders whose members are rooms of their own."""


def rooms() -> set[str]:
    """Dotted names of every room in the package."""
    found = set()
    for folder in ("", *SPLIT):
        for entry in (PACKAGE / folder).iterdir():
            relative = entry.relative_to(PACKAGE).as_posix()
            is_room = entry.suffix == ".py" or (entry.is_dir() and entry.name != "__pycache__")
            if is_room and entry.stem != "__init__" and relative not in SPLIT:
                found.add(relative.removesuffix(".py").replace("/", "."))
    return found


def named() -> set[str]:
    """Dotted names in the room table of the architecture page."""
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Rooms", 1)[1]
    return set(re.findall(r"^\| `([\w.]+)` \|", table, flags=re.MULTILINE))


def main() -> int:
    """Prints what is missing on either side."""
    unknown, gone = rooms() - named(), named() - rooms()
    for room in sorted(unknown):
        print(f"docs/architecture.md does not know the room `{room}`")
    for room in sorted(gone):
        print(f"docs/architecture.md names `{room}`, which does not exist")
    return 1 if unknown or gone else 0


if __name__ == "__main__":
    sys.exit(main())
