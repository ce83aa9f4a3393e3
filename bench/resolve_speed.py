"""How many launches a second `resolve --batch` answers in one process, beside a bare JSON parse of the same lines.

    python bench/resolve_speed.py [--cases FILE] [--rounds 5] [--limit RATIO]

The cases are the committed golden ones with their configs in the line, repeated to about 5,000. The ratio is the
figure to compare: both are measured in the same run, and the best of the rounds counts. Exit 1 above the limit.
"""

import argparse
import gzip
import json
import pathlib
import sys
import time
from collections.abc import Callable

from poolsplit.api import resolve_batch

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
CASES = 5_000
LIMIT = 8.0
"""Answering a launch may cost this many bare parses of its line; 2.5 to 4 were measured, 5 on a busy machine."""


def golden_lines() -> list[bytes]:
    """The committed cases as they would stand in a file: one launch a line, its config in it."""
    models = json.loads(gzip.decompress((GOLDEN / "resolve_models.json.gz").read_bytes()))
    lines = []
    for text in gzip.decompress((GOLDEN / "resolve_cases.jsonl.gz").read_bytes()).splitlines():
        case = json.loads(text)["case"]
        for name, key in (("model", "config"), ("draft_model", "draft_config")):
            if name in case and key not in case:
                case[key] = models[case[name]]
        lines.append(json.dumps(case).encode() + b"\n")
    return (lines * (CASES // len(lines) + 1))[:CASES]


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call: other work on the machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    """Measures both in turn and prints the best of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=LIMIT)
    options = parser.parse_args()
    lines = golden_lines() if options.cases is None else options.cases.read_bytes().splitlines(keepends=True)
    rounds = [
        (seconds(lambda: [json.loads(line) for line in lines]), seconds(lambda: list(resolve_batch(lines))))
        for _ in range(options.rounds)
    ]
    parse_s, answer_s = (min(figures) for figures in zip(*rounds, strict=True))
    ratio = answer_s / parse_s
    print(
        f"resolve --batch: {len(lines)} launches, {len(lines) / answer_s:,.0f} a second of processor time, "
        f"{ratio:.2f} times a bare parse of the lines ({parse_s:.2f} s)"
    )
    return 0 if ratio <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
