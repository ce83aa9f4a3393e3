"""Every command that README, pages or the questions name can be typed: the real parser knows its options.

Commands with shown output are run by `tests/e2e/test_pages.py`; the others name files and servers that nobody has.
"""

import re
import shlex

import pytest

from poolsplit.cli import app as cli
from support import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
GENERATED = ROOT / "docs" / "reference"
FENCE = re.compile(r"^```(?!console)\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^(?:\$ |- run: )?(?:POOLSPLIT_\w+=\S+ )?(poolsplit .*)$", re.MULTILINE)
INLINE = re.compile(r"`(poolsplit (?!\.\.\.)[^`]+)`")
NOT_TYPED = re.compile(r"\s+#\s.*$|\s*[<>|].*$|\$\(.*?\)|(?:\s--[\w-]+)?\s\.\.\.|,? \[.*?\]")
"""Comments, redirections, substitutions, dots and brackets: written for people."""


def commands(page):
    """Commands outside shown sessions, as they are typed."""
    text = re.sub(r"^```console\n.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    fenced = [line for block in FENCE.findall(text) for line in LINE.findall(block.replace("\\\n", " "))]
    return [NOT_TYPED.sub("", command).strip() for command in [*fenced, *INLINE.findall(FENCE.sub("", text))]]


NAMED = {
    f"{page.relative_to(ROOT).as_posix()}: {command}": command
    for page in PAGES
    if GENERATED not in page.parents
    for command in commands(page)
}


def test_commands_are_found():
    assert len(NAMED) > 50


@pytest.mark.parametrize("command", NAMED.values(), ids=NAMED)
def test_a_named_command_can_be_typed(command):
    words = shlex.split(command)[1:]
    app = cli.build_app()
    cli._check_command(words)
    own, _ = cli._split_at_delimiter(words)
    own, _ = cli._split_engine_flags(app, own)
    if len(own) > 1:
        app.parse_args(own, exit_on_error=False, print_error=False)
