"""Counts what the command line is held to, and writes docs/checks.md.

    .venv/bin/python scripts/count_checks.py

Runs the comparisons with the whole set of recorded answers, which is looked for in `../shared` (see CONTRIBUTING), and
counts what this repository holds. Without that set it says so and changes nothing.
"""

import datetime as dt
import gzip
import json
import platform
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

from console_blocks import BLOCK, shown_commands
from generated_page import DOCS, ROOT, table

SHARED = ROOT.parent / "shared"
GOLDEN = ROOT / "tests" / "golden"
COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
COMPARISONS = (
    ("resolve.py", "start-up answers and refusals of SGLang 0.5.16 to 0.5.23, every field", "resolve*_cases.jsonl.gz"),
    (
        "replay.py",
        "workloads of the real prefix cache and scheduler, every record in every field",
        "replay*_cases.jsonl.gz",
    ),
    ("logs.py", "real start-up logs, every figure that the contract names", "bootlogs/*.log"),
)
KINDS = (
    ("unit", "one room at a time"),
    ("property", "laws on random input: printed and read again, more memory never less, kernel equal to reference"),
    ("golden", "recorded answers of the engine"),
    ("contract", "names and shapes that other programs rely on"),
    ("differential", "the installed engine itself, where it is installed"),
    ("e2e", "the real command line, pages included"),
)
PAGE = ROOT / "scripts" / "checks_page.md"


def agreement(script: str) -> str:
    """The last line of one comparison, without its label."""
    done = subprocess.run(
        [sys.executable, str(SHARED / "check" / script), "--command", COMMAND],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"(\d+) of (\d+)", done.stdout.strip().split("\n")[-1])
    if found is None:
        raise SystemExit(f"{script} printed no count: {done.stdout[-200:]}{done.stderr[-200:]}")
    return f"{int(found[1]):,} of {int(found[2]):,}"


def committed(pattern: str) -> int:
    """Recorded cases of one kind in the repository: lines of packed files, or files."""
    paths = sorted(GOLDEN.glob(pattern))
    if not pattern.endswith(".gz"):
        return len(paths)
    return sum(len(gzip.decompress(path.read_bytes()).splitlines()) for path in paths)


def listed(command: str) -> int:
    """Entries of one of our own lists."""
    done = subprocess.run([COMMAND, command, "--json"], capture_output=True, text=True, check=True)
    return len(json.loads(done.stdout)[command])


def collected_tests() -> Iterator[tuple[str, str, str]]:
    """Tests that the suite collects here, by kind."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for kind, what in KINDS:
        found = len(re.findall(rf"^tests/{kind}/.*::", done.stdout, re.MULTILINE))
        yield f"`tests/{kind}`", what, f"{found:,}"


def shown_on_pages() -> int:
    """Commands that the pages show with their output."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    blocks = [block for path in pages for block in BLOCK.findall(path.read_text(encoding="utf-8"))]
    return sum(len(list(shown_commands(block))) for block in blocks)


def page() -> str:
    """The whole page."""
    version = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    once = tomllib.loads((ROOT / "scripts" / "run_once.toml").read_text(encoding="utf-8"))["run"]
    tests = list(collected_tests())
    total = sum(int(row[2].replace(",", "")) for row in tests)
    return PAGE.read_text(encoding="utf-8").format(
        date=dt.datetime.now(tz=dt.UTC).date(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        version=f"poolsplit {version}",
        comparisons=table(
            ("held to", "agree", "committed"),
            [(what, agreement(script), f"{committed(pattern):,}") for script, what, pattern in COMPARISONS],
        ),
        counts=table(
            ("what", "count"),
            [
                ("tests", f"{total:,}"),
                ("models in the catalog", listed("models")),
                ("cards", listed("gpus")),
                ("commands on the pages, run and compared", shown_on_pages()),
            ],
        ),
        tests=table(("folder", "what", "tests"), tests),
        once=table(("what", "result", "repeated by"), [(run["what"], run["result"], run["by"]) for run in once]),
    )


def main() -> int:
    """Writes the page."""
    if not SHARED.is_dir():
        print("there is no ../shared with the recorded answers: nothing is counted")
        return 1
    (DOCS / "checks.md").write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
