"""Plans as multiples of a bare interpreter start in the same run.

    .venv/bin/python bench/plan.py [--rounds 9]

Bounds: a plan with a catalog model at most 22 bare starts; one with every lever, a spread of lengths and stages at most
45; the same plan inside a running process at most 30. Exit 1 above them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import sysconfig
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from poolsplit import api

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
MODEL = ("Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200")
SPREAD = "p50=2k,p90=32k,p99=128k"
CASES = (
    ("plan, one length", (COMMAND, "plan", *MODEL, "--tp", "4", "--context", "8192", "-q"), 22),
    ("plan, spread, levers, stages", (COMMAND, "plan", *MODEL, "--pp-size", "4", "--lengths", SPREAD, "-q"), 45),
)
INSIDE_BOUND = 30


def median_s(run: Callable[[], object], rounds: int) -> float:
    """Median wall time."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


ROUND = count()


def plan_inside() -> None:
    """The large plan without a process start; each round has lengths of its own, so that nothing is remembered."""
    request = api.launch_request(model=MODEL[0], gpu="h200", engine_flags=("--pp-size", "4"), pasted=())
    api.plan(request, workload={"lengths": f"p50={2048 + next(ROUND)},p90=32k,p99=128k"})


def main() -> int:
    """Prints one line a case and fails when a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    bare = median_s(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), rounds)
    print(f"bare interpreter: {bare * 1000:.1f} ms (median of {rounds})")
    within = True
    for name, command, bound in CASES:
        ratio = median_s(partial(subprocess.run, command, stdout=subprocess.DEVNULL, check=True), rounds) / bare
        within &= ratio <= bound
        print(f"{name}: {ratio:.1f} x bare ({bare * ratio * 1000:.0f} ms), bound {bound}")
    inside = median_s(plan_inside, rounds) / bare
    within &= inside <= INSIDE_BOUND
    print(f"the same inside a process: {inside:.1f} x bare ({bare * inside * 1000:.0f} ms), bound {INSIDE_BOUND}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
