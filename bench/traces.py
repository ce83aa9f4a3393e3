"""Reading and writing request traces, against orjson's bare parse of the same bytes in the same run.

    .venv/bin/python bench/traces.py [--shared ../shared] [--rounds 5]

Bounds: Mooncake JSONL to a trace at most 3 bare parses; the coding sessions from gzip to a trace in 12 s, and re-opened
from the compact file in 1 s; the 98,827-request workload written to and read from one compact file in 2 s each; every
peak of memory at most 1 GiB. Each case runs in a process of its own, compiled code warm. Exit 1 above a bound.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT_BYTES = 1 << 30
MOONCAKE = "traces/mooncake-fast25/conversation_trace.jsonl.gz"
SESSIONS = "traces/cc-traces-weka-042026"


def best_s(action: Any, rounds: int) -> float:
    """Shortest wall time of several calls; the first one, which loads compiled code, does not count."""
    action()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def mooncake(shared: Path, rounds: int) -> dict[str, float]:
    """Bare parse of the unpacked lines, and the same unpacked file to a trace."""
    import orjson

    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions

    content = gzip.decompress((shared / MOONCAKE).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        path.write_bytes(content)
        bare = best_s(lambda: [orjson.loads(line) for line in path.read_bytes().splitlines()], rounds)
        whole = best_s(lambda: read_trace([str(path)], ReadOptions()), rounds)
    return {"bare_s": bare, "trace_s": whole, "ratio": whole / bare, "bound_ratio": 3.0}


def sessions_bare(shared: Path, rounds: int) -> dict[str, float]:
    """Bare parse of the coding sessions, unpacking included."""
    import orjson

    del rounds
    start = time.perf_counter()
    size = 0
    for path in sorted((shared / SESSIONS).glob("*.json.gz")):
        content = gzip.decompress(path.read_bytes())
        size += len(content)
        orjson.loads(content)
    return {"bare_s": time.perf_counter() - start, "json_bytes": size}


def sessions(shared: Path, rounds: int) -> dict[str, float]:
    """The coding sessions from gzip to a trace, and from the compact file."""
    from poolsplit.traces import compact
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions

    read_trace([str(next((shared / SESSIONS).glob("*.json.gz")))], ReadOptions())
    start = time.perf_counter()
    trace = read_trace([str(shared / SESSIONS)], ReadOptions())
    read_s = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.pst"
        with path.open("wb") as out:
            compact.write(trace, out)
        reopen = best_s(lambda: read_trace([str(path)], ReadOptions()), rounds)
        size = path.stat().st_size
    return {
        "block_ids": int(trace.blocks.sum()),
        "read_s": read_s,
        "bound_read_s": 12.0,
        "reopen_s": reopen,
        "bound_reopen_s": 1.0,
        "compact_bytes": size,
    }


def agents(shared: Path, rounds: int) -> dict[str, float]:
    """The calibrated agent workload: made, written, read."""
    from poolsplit.traces import compact
    from poolsplit.traces.formats import read_trace
    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.synthetic import synthesise

    del shared
    start = time.perf_counter()
    trace, _ = synthesise("agent", seed=1, parameters={})
    made_s = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agents.pst"

        def write() -> None:
            with path.open("wb") as out:
                compact.write(trace, out)

        written = best_s(write, rounds)
        opened = best_s(lambda: read_trace([str(path)], ReadOptions()), rounds)
        size = path.stat().st_size
    return {
        "requests": len(trace),
        "input_tokens": int(trace.input_tokens.sum()),
        "made_s": made_s,
        "write_s": written,
        "bound_write_s": 2.0,
        "read_s": opened,
        "bound_read_s": 2.0,
        "compact_bytes": size,
    }


CASES = {"mooncake": mooncake, "sessions_bare": sessions_bare, "sessions": sessions, "agents": agents}


def run_case(name: str, shared: Path, rounds: int) -> dict[str, float]:
    """One case in a process of its own, with its peak of memory."""
    command = (sys.executable, __file__, "--case", name, "--shared", str(shared), "--rounds", str(rounds))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def main() -> int:
    """Prints every figure and fails when a bound is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parent.parent.parent / "shared")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", choices=sorted(CASES), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        found = CASES[asked.case](asked.shared, asked.rounds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        bound = {} if asked.case.endswith("bare") else {"bound_peak_bytes": LIMIT_BYTES}
        print(json.dumps({**found, "peak_bytes": peak, **bound}))
        return 0
    within = True
    for name in CASES:
        found = run_case(name, asked.shared, asked.rounds)
        print(f"{name}: " + ", ".join(f"{key} {_short(value)}" for key, value in found.items()))
        bounds = {key.removeprefix("bound_"): value for key, value in found.items() if key.startswith("bound_")}
        within &= all(found[key] <= bound for key, bound in bounds.items())
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
