"""The check of the site finds what it is for."""

import pytest

import check_pages
from document_schema import fields_of, schema_of


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A project with one page in the site, and what it links to."""
    monkeypatch.setattr(check_pages, "ROOT", tmp_path)
    monkeypatch.setattr(check_pages, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(check_pages, "OUTSIDE", ("README.md",))
    for name, text in {
        "mkdocs.yml": "nav:\n  - a.md\n  - Group:\n      - sub/b.md\n",
        "README.md": "[page](docs/a.md#here) [file](mkdocs.yml) [web](https://example.org)",
        "docs/a.md": "",
        "docs/sub/b.md": "",
        "src/x.py": '"""Source: docs/sub/b.md#there."""',
        "site/a.html": '<h1 id="here">A</h1><a href="sub/b.html#there">b</a><a href="https://example.org">c</a>',
        "site/sub/b.html": '<h2 id="there">B</h2><a href="../a.html">a</a><a href="#there">up</a>',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def faults(pages):
    site = check_pages.Site(pages / "site")
    checks = (check_pages.outside_faults, check_pages.citation_faults)
    return [*check_pages.nav_faults(), *site.link_faults(), *(fault for check in checks for fault in check(site))]


def test_pages_that_hold_together_have_no_fault(pages):
    assert faults(pages) == []


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        ("mkdocs.yml", "  - a.md\n", "", "docs/a.md: no line in the nav of mkdocs.yml"),
        ("mkdocs.yml", "a.md", "gone.md", "mkdocs.yml: docs/gone.md does not exist"),
        ("mkdocs.yml", "a.md\n", "a.md\n  - a.md\n", "mkdocs.yml: docs/a.md stands twice"),
        ("site/a.html", "b.html", "c.html", "a.html: sub/c.html#there does not exist"),
        ("site/a.html", "#there", "#nowhere", "a.html: sub/b.html#nowhere: no such anchor"),
        ("site/sub/b.html", 'href="#there"', 'href="#x"', "sub/b.html: #x: no such anchor"),
        ("README.md", "#here", "#gone", "README.md: docs/a.md#gone leads nowhere"),
        ("README.md", "(mkdocs.yml)", "(gone.yml)", "README.md: gone.yml leads nowhere"),
        ("src/x.py", "#there", "#gone", "src/x.py: cites docs/sub/b.md#gone, which is not in the site"),
    ],
)
def test_a_fault_is_named(pages, path, old, new, fault):
    text = (pages / path).read_text(encoding="utf-8")
    (pages / path).write_text(text.replace(old, new), encoding="utf-8")
    assert fault in faults(pages)


def test_a_schema_admits_all_that_was_seen():
    schema = schema_of([{"a": 1, "b": None, "flags": {"x": 1}}, {"a": 1.5, "b": [{"c": "s"}], "flags": {"y": 2}}])
    assert schema["required"] == ["a", "b", "flags"]
    assert {path: kinds for path, kinds, _ in fields_of(schema)} == {
        "a": "number",
        "b": "array or null",
        "b[].c": "string",
        "flags": "object",
    }
    assert schema["properties"]["flags"]["additionalProperties"] == {"type": "integer"}
