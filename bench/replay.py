"""Replay against the real scheduler and cache, in one run: how many times faster, for the same decisions.

    python bench/replay.py --engine-python PYTHON --reference FOLDER

PYTHON has the engine installed; FOLDER holds `engine.py`, which drives it on a CPU. Without them only our own
side is timed. The workload: 2,000 requests of 23 thousand prompt tokens and 64 outputs, multi-turn conversations over a
few shared system prompts, one million KV tokens and 200 state slots, 16 outstanding. Seconds are processor time, so
that a busy machine slows neither side.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.golden_form import read_workload, write_result
from poolsplit.replay.kernel.answers import read_records
from poolsplit.replay.kernel.build import build_world, sending_of
from poolsplit.replay.kernel.run import replay, run_to_end
from poolsplit.replay.kernel.tables import tables_of
from poolsplit.replay.workload import ReplayResult

ENGINE_SIDE = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import engine
row = json.load(open(sys.argv[2]))
def flat(runs): return [t for s, n in runs for t in range(s, s + n)]
requests = [{**r, "tokens": flat(r["runs"]), "output": flat(r["out_runs"])} for r in row["requests"]]
oracle = engine.Oracle(backend="rust", **row["config"])
began = time.process_time()
records = engine.replay(oracle, requests, mode=row["mode"], concurrency=row["concurrency"])
print(json.dumps({"seconds": time.process_time() - began, "records": records}))
"""


def conversations(count: int, mean: int, outputs: int) -> list[dict[str, Any]]:
    """Prompts of growing conversations, about `mean` tokens each, as runs."""
    draw, following = random.Random(0), [1]  # noqa: S311  not a secret

    def fresh(tokens: int) -> list[int]:
        first = following[0]
        following[0] += tokens
        return [first, tokens]

    systems = [[fresh(draw.randrange(500, 4000))] for _ in range(8)]
    open_, requests = [], []
    for index in range(count):
        if open_ and draw.random() < 0.8:
            k = draw.randrange(len(open_))
        else:
            k = len(open_)
            open_.append([*draw.choice(systems), fresh(draw.randrange(mean // 8, mean))])
        turn = open_[k]
        turn.append(fresh(draw.randrange(mean // 40, mean // 5)))
        answer = fresh(outputs)
        requests.append({"id": index, "runs": list(turn), "out_runs": [answer], "stop": "length"})
        turn.append(answer)
        if sum(tokens for _, tokens in turn) > 2 * mean:
            open_.pop(k)
    return requests


def workload(count: int, mode: str, concurrency: int | None) -> dict[str, Any]:
    """The row in the golden form."""
    config = {
        "strategy": "extra_buffer", "page_size": 1, "kv_tokens": 1_000_000, "state_slots": 200, "chunk_size": 8192,
        "max_context": 80_000, "max_running": 16,
    }  # fmt: skip
    return {"config": config, "mode": mode, "concurrency": concurrency, "requests": conversations(count, 20_000, 64)}


def our_side(row: dict[str, Any]) -> tuple[float, float, Any]:
    """Seconds of the best of five runs, of building the arrays, and the records."""
    config, asked = read_workload(row, cache_rules())
    began = time.process_time()
    tables_of(config, asked)
    building = time.process_time() - began
    best = float("inf")
    for _ in range(5):
        world = build_world(config, tables_of(config, asked), sending_of(asked))
        began = time.process_time()
        world = run_to_end(world)
        best = min(best, time.process_time() - began)
    result = ReplayResult(records=tuple(read_records(world, asked)))
    return best, building, json.loads(json.dumps(write_result(result, want_freed=False)))["expect"]


def engine_side(python: str, reference: str, row: dict[str, Any]) -> tuple[float, Any]:
    """Seconds and records of the real scheduler."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(row, file)
        file.flush()
        run = subprocess.run(
            [python, "-c", ENGINE_SIDE, reference, file.name], capture_output=True, text=True, check=True
        )
    answer = json.loads(run.stdout.splitlines()[-1])
    return answer["seconds"], answer["records"]


def main() -> int:
    """Prints both sides and the ratio; exit 1 when decisions differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--engine-python")
    parser.add_argument("--reference", type=Path)
    asked = parser.parse_args()
    began = time.perf_counter()
    replay(*read_workload(workload(2, "sequential", None), cache_rules()))
    print(f"kernel ready in {time.perf_counter() - began:.2f} s")
    differ = 0
    for mode, concurrency in (("closed", 16),):
        row = workload(asked.requests, mode, concurrency)
        seconds, building, records = our_side(row)
        print(f"{mode}: {len(records)} requests in {seconds * 1e3:.2f} ms ({len(records) / seconds:,.0f} a second), "
              f"arrays built in {building * 1e3:.1f} ms")  # fmt: skip
        if asked.engine_python and asked.reference:
            theirs, expected = engine_side(asked.engine_python, str(asked.reference), row)
            differ += records != expected
            print(f"{mode}: the engine took {theirs:.2f} s: {theirs / seconds:,.0f} times as long, "
                  f"decisions {'differ' if records != expected else 'equal'}")  # fmt: skip
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
