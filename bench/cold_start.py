"""Cold start of light commands, as multiples of a bare interpreter in the same run.

    .venv/bin/python bench/cold_start.py [--rounds 15]

Bounds: `poolsplit plan` with a catalog model at most 22 bare starts, `poolsplit --help` at most 30. Exit 1 above them.
"""

import argparse
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
PLAN = ("plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8192")
CASES = (
    ("plan, catalog model", (COMMAND, *PLAN), 22),
    ("--help", (COMMAND, "--help"), 30),
)


def median_s(command: tuple[str, ...], rounds: int) -> float:
    """Median wall time of one command, its output thrown away."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            start = time.perf_counter()
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    """Prints one line a case and fails when a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    bare = median_s((sys.executable, "-c", "pass"), rounds)
    print(f"bare interpreter: {bare * 1000:.1f} ms (median of {rounds})")
    within = True
    for name, command, bound in CASES:
        ratio = median_s(command, rounds) / bare
        within &= ratio <= bound
        print(f"{name}: {ratio:.1f} x bare ({bare * ratio * 1000:.0f} ms), bound {bound}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
