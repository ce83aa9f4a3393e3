"""docs/engine-rules.md shows the switches and refusals that the code has."""

import subprocess
import sys

from support import ROOT


def test_the_page_is_current():
    done = subprocess.run(
        [sys.executable, "scripts/make_engine_rules.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_page_names_every_room_of_the_rules():
    page = (ROOT / "docs" / "engine-rules.md").read_text()
    folder = ROOT / "src" / "poolsplit" / "engines" / "sglang" / "rules"
    plumbing = {"__init__.py", "launch.py", "architectures.py", "origins.py", "resolve.py"}
    missing = [
        path.name for path in folder.glob("*.py") if path.name not in plumbing and f"rules/{path.name}" not in page
    ]
    assert missing == []
