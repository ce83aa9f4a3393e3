"""Time and memory of the picture, one budget line and the whole surface, at growing shares of a trace.

    python bench/surface_speed.py TRACE [--lanes N] [--shares 8,4,2,1]

Each share runs in a process of its own: share 8 takes the first eighth of the sessions. Kernels are on disk by then.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit import api
from poolsplit.answers.surfaces.answer import line_answer, surface_stages
from poolsplit.answers.surfaces.ground import ground_of
from poolsplit.replay.ordered.order import Timing
from poolsplit.surface.line import Budget
from poolsplit.traces.reorder import take

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace


def first_sessions(trace: Trace, share: int) -> Trace:
    """The requests of the first sessions, in their order."""
    if share == 1:
        return trace
    kept = trace.session < max(1, trace.sessions // share)
    return take(trace, np.flatnonzero(kept))


def measure(name: str, lanes: int, share: int) -> dict[str, Any]:
    """One share in this process."""
    begun = time.perf_counter()
    trace = first_sessions(api.read_trace([name]), share)
    read_s = time.perf_counter() - begun
    timing = Timing(mode="closed", sessions=lanes) if lanes else Timing()
    begun = time.perf_counter()
    ground = ground_of(trace, version="0.5.23", server={}, timing=timing)
    stages = surface_stages(ground, None)
    next(stages)
    picture_s = time.perf_counter() - begun
    list(stages)
    surface_s = time.perf_counter() - begun
    fresh = ground_of(trace, version="0.5.23", server={}, timing=timing)
    begun = time.perf_counter()
    budget = Budget(total_bytes=int(2 * ground.held.tokens_peak) + 2_000_000, state_bytes=2000, kv_bytes=1.0)
    line = line_answer(fresh, budget)
    line_s = time.perf_counter() - begun
    return {
        "requests": len(trace),
        "mean_input": float(trace.input_tokens.mean()),
        "read_s": read_s,
        "picture_s": picture_s,
        "surface_s": surface_s,
        "line_s": line_s,
        "line_replays": line.replays,
        "replays": len(ground.replays.known),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Prints one line a share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--lanes", type=int, default=0)
    parser.add_argument("--shares", default="8,4,2,1")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.trace, options.lanes, options.one)))
        return
    print(f"{'requests':>9}{'mean in':>9}{'read':>7}{'picture':>9}{'line':>8}{'surface':>9}{'replays':>8}{'MiB':>7}")
    for share in options.shares.split(","):
        words = [sys.executable, __file__, options.trace, "--lanes", str(options.lanes), "--one", share]
        row = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        print(
            f"{row['requests']:>9,}{row['mean_input']:>9,.0f}{row['read_s']:>7.2f}{row['picture_s']:>9.2f}"
            f"{row['line_s']:>8.2f}{row['surface_s']:>9.2f}{row['replays']:>8}{row['peak_mib']:>7.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
