"""Cache calls alone against the engine's own tree, in one run: lookup, evict, insert with one state, no scheduler.

    python bench/replay_cache.py [--engine-python PYTHON --reference FOLDER]

The workload is that of `bench/replay.py`; each request is looked up and inserted whole. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.golden_form import read_workload
from poolsplit.replay.kernel.build import build_world, sending_of
from poolsplit.replay.kernel.cache import insert, lock, lookup, unlock
from poolsplit.replay.kernel.eviction import free_kv_to, free_states_to
from poolsplit.replay.kernel.leaves import offer_leaf
from poolsplit.replay.kernel.tables import tables_of
from replay import workload

if TYPE_CHECKING:
    from poolsplit.replay.kernel.layout import World

ROOM_FOR_NODES = 1 << 16

ENGINE_SIDE = """
import argparse, io, json, sys, contextlib, time
sys.path.insert(0, sys.argv[1])
import bench
row = json.load(open(sys.argv[2]))
def flat(runs): return [t for s, n in runs for t in range(s, s + n)]
requests = [{"id": r["id"], "tokens": flat(r["runs"]), "output": flat(r["out_runs"])} for r in row["requests"]]
options = argparse.Namespace(backend="rust", strategy="extra_buffer", page=1, kv_tokens=1_000_000, slots=200,
                             tokens=20_000, running=16)
time.perf_counter = time.process_time
said = io.StringIO()
with contextlib.redirect_stdout(said):
    bench.cache_only(requests, options)
print(said.getvalue())
"""


@numba.njit(cache=True, error_model="numpy")
def calls(w: World) -> int:
    """Every request once; gives the tokens reused."""
    reused = 0
    for r in range(w.requests.size):
        request, now = w.requests[r], w.now[0]
        length = request.prompt + request.final_outputs
        node, matched, _ = lookup(w, request.first_run, length)
        request.lock, request.protected = node, matched
        held = lock(w, node, True)
        free_kv_to(w, length - matched)
        free_states_to(w, 1)
        now.kv_free -= length - matched
        now.state_free -= 1
        leaf, _, kept = insert(w, r, length)
        offer_leaf(w, leaf)
        now.state_free += not kept
        unlock(w, node, held)
        reused += matched
    return reused


def our_side(row: dict[str, Any]) -> tuple[float, int]:
    """Seconds of the best of five, and the tokens reused."""
    config, asked = read_workload(row, cache_rules())
    best, reused = float("inf"), 0
    for _ in range(6):
        world = build_world(config, tables_of(config, asked), sending_of(asked), nodes=ROOM_FOR_NODES)
        began = time.process_time()
        reused = int(calls(world))
        best = min(best, time.process_time() - began)
    return best, reused


def main() -> int:
    """Prints both sides; exit 1 when they reuse different shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--engine-python")
    parser.add_argument("--reference", type=Path)
    asked = parser.parse_args()
    row = workload(asked.requests, "sequential", None)
    seconds, reused = our_side(row)
    tokens = sum(count for one in row["requests"] for _, count in (*one["runs"], *one["out_runs"]))
    print(f"ours: {asked.requests} requests {tokens} tokens ({reused / tokens:.0%} matched) in {seconds * 1e3:.2f} ms")
    if asked.engine_python and asked.reference:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(row, file)
            file.flush()
            command = [asked.engine_python, "-c", ENGINE_SIDE, str(asked.reference), file.name]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
        said = run.stdout.strip().splitlines()[-1]
        theirs = float(said.split("matched): ")[1].split("s")[0])
        print(f"the engine: {said}\nratio {theirs / seconds:,.0f}")
        return int(f"({reused / tokens:.0%} matched)" not in said)
    return 0


if __name__ == "__main__":
    sys.exit(main())
