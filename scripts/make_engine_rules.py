"""Writes the generated tables of docs/engine-rules.md, or checks that they are current (`--check`)."""

import sys
from dataclasses import fields
from pathlib import Path
from string import Formatter

from poolsplit.engines.sglang.refusals import REFUSALS
from poolsplit.engines.sglang.versions import TABLE, VERSIONS, Switches

PAGE = Path(__file__).parent.parent / "docs" / "engine-rules.md"
SECTIONS = ("switches", "refusals")
_UNSHOWN = {"version", "warning"}


def shown(value: object) -> str:
    """One value of a switch, short enough for a cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset | tuple):
        return f"{len(value)} listed" if value else "none"
    return str(value)


def switch_table() -> str:
    """One row a switch, one column a release; `=` means as in the release before."""
    lines = ["| switch | " + " | ".join(VERSIONS) + " |", "|---" * (len(VERSIONS) + 1) + "|"]
    for entry in fields(Switches):
        if entry.name in _UNSHOWN:
            continue
        values = [getattr(TABLE[version], entry.name) for version in VERSIONS]
        cells = [
            shown(value) if number == 0 or value != values[number - 1] else "=" for number, value in enumerate(values)
        ]
        lines.append(f"| `{entry.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def refusal_table() -> str:
    """One row a refusal: its id, what it says, what to do."""
    lines = ["| id | says | hint |", "|---|---|---|"]
    for reason in sorted(REFUSALS):
        entry = REFUSALS[reason]
        words = {name: f"<{name}>" for _, name, _, _ in Formatter().parse(entry.message) if name}
        message = "".join(
            text + (words[name] if name else "") for text, name, _, _ in Formatter().parse(entry.message)
        ).replace("|", "\\|")
        lines.append(f"| `{reason}` | {message} | {entry.hint} |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """The page with its generated sections as they should be."""
    tables = {"switches": switch_table(), "refusals": refusal_table()}
    for name in SECTIONS:
        start, end = f"<!-- {name}: generated -->", f"<!-- end of {name} -->"
        before, rest = page.split(start)
        after = rest.split(end)[1]
        page = f"{before}{start}\n\n{tables[name]}\n\n{end}{after}"
    return page


def main() -> int:
    """Write the page, or say that it is out of date."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = filled(page)
    if "--check" in sys.argv[1:]:
        if page != wanted:
            print("docs/engine-rules.md is out of date: run scripts/make_engine_rules.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
