"""Counts what the command line is held to, and writes docs/checks.md.

    .venv/bin/python scripts/count_checks.py

Runs the three comparisons that lie beside the checkout (recorded answers of the engine), and counts tests and facts in
this repository. Without the recorded answers it says so and changes nothing.
"""

import datetime as dt
import json
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
COMPARISONS = (
    ("resolve.py", "start-up answers and refusals of SGLang 0.5.16 to 0.5.23, every field"),
    ("replay.py", "workloads of the real prefix cache and scheduler, every record in every field"),
    ("logs.py", "real start-up logs, every figure that the contract names"),
)
PAGE = """# How the numbers are checked

Written by `scripts/count_checks.py` on {date} with Python {python} on {machine}, {version}.

| held to | agree |
|---|---|
{rows}

The recorded answers come from the released engine itself: its argument resolution, start-up solver, prefix cache and
scheduler run without a GPU. A subset is in `tests/golden`, so that a fresh clone tests itself; where the whole lies
beside the checkout, `make test` runs the whole.

| in this repository | count |
|---|---|
| tests | {tests} |
| models in the catalog | {models} |
| cards | {cards} |

## What is not checked

- Pool construction and graph capture on a GPU were never run: buffers beside the reservation follow from their shapes.
- Free memory is an input. Where it is estimated from card and weights, the answer carries an interval and says so.
- The host tier and unified memory are not replayed; what `plan` says of host states follows a reading of the engine.
- Sizing after graph capture, `--cuda-graph-config`, `--json-model-override-args` and sharded KV are not followed; the
  answer warns.
- Cards outside the recorded platforms are answered as "not verified".
"""


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


def listed(command: str) -> int:
    """Entries of one of our own lists."""
    done = subprocess.run([COMMAND, command, "--json"], capture_output=True, text=True, check=True)
    return len(json.loads(done.stdout)[command])


def collected_tests() -> int:
    """Tests that the suite collects here."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"(\d+) tests collected", done.stdout)
    if found is None:
        raise SystemExit("the suite collects no test")
    return int(found[1])


def main() -> int:
    """Writes the page."""
    if not SHARED.is_dir():
        print("the recorded answers do not lie beside this checkout: nothing is counted")
        return 1
    version = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    page = PAGE.format(
        date=dt.datetime.now(tz=dt.UTC).date(),
        python=platform.python_version(),
        machine=f"{platform.system()} {platform.machine()}",
        version=f"poolsplit {version}",
        rows="\n".join(f"| {what} | {agreement(script)} |" for script, what in COMPARISONS),
        tests=f"{collected_tests():,}",
        models=listed("models"),
        cards=listed("gpus"),
    )
    (ROOT / "docs" / "checks.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
