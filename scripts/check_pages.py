"""Fails when the pages do not hold together: a page without a place in the site, a link that leads nowhere.

    .venv/bin/python scripts/check_pages.py build/site

Looks at the built site (every internal link and anchor), at the pages outside it (README and its fellows), and at the
pages that docstrings cite.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")
CITED = re.compile(r"docs/[\w/.-]+\.md(?:#[\w-]+)?")


class BuiltPage(HTMLParser):
    """The links and the anchors of one built page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps what the tag names and where it leads."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if value and (name == "src" or (name == "href" and tag != "link")):
                self.links.add(value)


def nav_pages(entry: object) -> Iterator[str]:
    """Every page that the site's navigation names."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from nav_pages(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from nav_pages(value)


def nav_faults() -> Iterator[str]:
    """Pages without a place, and places without a page."""
    named = list(nav_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    for page in sorted(there - set(named)):
        yield f"docs/{page}: no line in the nav of mkdocs.yml"
    for page in sorted(set(named) - there):
        yield f"mkdocs.yml: docs/{page} does not exist"
    for page in sorted({page for page in named if named.count(page) > 1}):
        yield f"mkdocs.yml: docs/{page} stands twice"


class Site:
    """The built pages, each parsed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.pages = {path: BuiltPage(path) for path in sorted(self.folder.rglob("*.html"))}

    def fault(self, page: Path, link: str) -> str | None:
        """What is wrong with a link that stands on a built page, if anything."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        target = target / "index.html" if target.is_dir() else target
        if not target.exists():
            return f"{link} does not exist"
        if parts.fragment and target in self.pages and parts.fragment not in self.pages[target].anchors:
            return f"{link}: no such anchor"
        return None

    def link_faults(self) -> Iterator[str]:
        """Links of the site that lead nowhere."""
        for path, page in self.pages.items():
            for link in sorted(page.links):
                fault = self.fault(path, link)
                if fault is not None and path.name != "404.html":
                    yield f"{path.relative_to(self.folder)}: {fault}"

    def has(self, cited: str) -> bool:
        """Whether a page of `docs/` and its anchor, as the sources name them, are in the site."""
        page, _, anchor = cited.removeprefix("docs/").partition("#")
        built = self.pages.get(self.folder / f"{page.removesuffix('.md')}.html")
        return built is not None and (not anchor or anchor in built.anchors)


def outside_faults(site: Site) -> Iterator[str]:
    """Links of the pages outside the site that lead nowhere."""
    for name in OUTSIDE:
        for link in MARKDOWN_LINK.findall((ROOT / name).read_text(encoding="utf-8")):
            if urlsplit(link).scheme or link.startswith("#"):
                continue
            in_site = link.startswith("docs/") and ".md" in link
            if not (site.has(link) if in_site else (ROOT / link.partition("#")[0]).exists()):
                yield f"{name}: {link} leads nowhere"


def citation_faults(site: Site) -> Iterator[str]:
    """Pages that the code cites and the site does not hold."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for cited in sorted(set(CITED.findall(path.read_text(encoding="utf-8")))):
            if not site.has(cited):
                yield f"{path.relative_to(ROOT)}: cites {cited}, which is not in the site"


def main() -> int:
    """Prints every fault."""
    site = Site(Path(sys.argv[1]))
    if not site.pages:
        print(f"{sys.argv[1]} holds no built page: run `make docs`", file=sys.stderr)
        return 1
    faults = [*nav_faults(), *site.link_faults(), *outside_faults(site), *citation_faults(site)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
