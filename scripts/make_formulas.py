"""Writes docs/reference/formulas.md from the docstrings of the code, or checks that it is current (`--check`)."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from generated_page import PACKAGE, REFERENCE, settle, table

SECTIONS = ("Source", "Known error")
HEAD = """# Formulas and their sources

Written by `scripts/make_formulas.py` from the docstrings of the code; the tests hold it to them. `Source` is where a
rule comes from and what holds it, `Known error` what it leaves out. The rules of the engine stand in
[start-up](start-up.md), those of its cache and scheduler in [replay](../replay.md)."""
SUBJECTS: Mapping[str, str] = {
    "shapes/families": "What a config file says",
    "shapes": "Bytes of a slot and of a row",
    "budget": "Bytes left for the pools",
    "workload": "Traffic",
    "planning": "Choosing a split",
    "engines/sglang/rules": "Arguments of a launch",
    "engines/sglang/solver": "The start-up solver",
    "engines": "The engine beside its solver",
    "replay": "The prefix cache and the scheduler",
    "surface": "Reuse at every split",
    "traces": "Traces",
    "live": "Live servers",
    "hub": "Files of a checkpoint",
    "": "The rest",
}
"""Folders and what they are about; the first that a module lies in counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """One docstring that says where its rule comes from, or what it leaves out."""

    subject: str
    name: str
    summary: str
    source: str
    known_error: str


def formulas() -> Iterator[Formula]:
    """Every such docstring of the package, in the order of the files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE).as_posix()
        module = relative.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        subject = next(text for folder, text in SUBJECTS.items() if relative.startswith(folder))
        for name, docstring in documented(ast.parse(path.read_text(encoding="utf-8"))):
            source, known_error = (section(docstring, title) for title in SECTIONS)
            if source or known_error:
                yield Formula(
                    subject=subject,
                    name=f"{module}.{name}" if name else module,
                    summary=paragraph(docstring),
                    source=source,
                    known_error=known_error,
                )


def documented(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and docstring of a module, of its classes and of its functions."""
    yield "", ast.get_docstring(tree) or ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, ast.get_docstring(node) or ""


def paragraph(text: str) -> str:
    """The first paragraph."""
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def section(docstring: str, title: str) -> str:
    """The text of one section; empty when there is none."""
    found = re.search(rf"^{title}:(.*?)(?=\n\n|\n[A-Z][a-z]+(?: \w+)?:|\Z)", docstring, re.MULTILINE | re.DOTALL)
    return linked(" ".join(found[1].split())) if found else ""


def linked(text: str) -> str:
    """Pages that a docstring cites, as links."""
    return re.sub(r"`?docs/([\w/.-]+\.md)(#[\w-]+)?`?", target, text)


def target(found: re.Match[str]) -> str:
    """A link from this page to a cited one."""
    page, anchor = found[1], found[2] or ""
    href = page.removeprefix("reference/") if page.startswith("reference/") else f"../{page}"
    words = (anchor.removeprefix("#") or Path(page).stem).replace("-", " ")
    return f"[{words}]({href}{anchor})"


def main() -> int:
    """Writes the page, or says that it is out of date."""
    parts = [HEAD]
    found = list(formulas())
    for subject in dict.fromkeys(SUBJECTS.values()):
        rows = [
            (f"`{each.name}`", each.summary, each.source, each.known_error) for each in found if each.subject == subject
        ]
        if rows:
            parts += [f"## {subject}", table(("rule", "what it gives", "source", "known error"), rows)]
    return settle({REFERENCE / "formulas.md": "\n\n".join(parts) + "\n"})


if __name__ == "__main__":
    sys.exit(main())
