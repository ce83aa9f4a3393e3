"""Every command that a page shows runs, and the output that the page shows is the output it gives."""

import re
import shutil

import pytest

from console_blocks import BLOCK, printed, shown_commands
from support import EXAMPLES, ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def shown(page):
    """The shown commands of one page, in order."""
    return [each for block in BLOCK.findall(page.read_text(encoding="utf-8")) for each in shown_commands(block)]


FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"(?<![\d.,])(?:\d{1,3}(?:,\d{3})+|\d+\.\d+)(?![\d]|\.\d)")
"""A number with separators or decimals; no release."""
SHOWING = [page for page in PAGES if shown(page)]


def test_the_pages_that_must_show_commands_do():
    names = {page.relative_to(ROOT).as_posix() for page in SHOWING}
    guides = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs" / "guides").glob("*.md")}
    assert names >= {"README.md", "docs/tutorial.md", *guides}
    assert len(guides) >= 10


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_shown_output_is_the_output(page, tmp_path):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    for each in shown(page):
        got, expected = printed(each.command, tmp_path), list(each.output)
        if expected[-1:] == ["..."]:
            expected, got = expected[:-1], got[: len(expected) - 1]
        assert got == expected, f"{page.name}: {each.command}"


@pytest.mark.parametrize(
    "page", [page for page in SHOWING if page.parent.name in {"guides", "concepts"} or page.stem == "tutorial"], ids=str
)
def test_a_figure_in_the_text_stands_in_an_output_of_the_page(page):
    text = page.read_text(encoding="utf-8")
    shown_figures = {found for fence in FENCE.findall(text) for found in FIGURE.findall(fence)}
    assert set(FIGURE.findall(FENCE.sub("", text))) - shown_figures == set()
