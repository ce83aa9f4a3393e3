"""Where residency ends: hit rates of closed loops of coding sessions over both pools, and what two levers do to them.

    python bench/replay_cliff.py TRACE

TRACE is a request trace of sessions with block ids, such as coding agents record. Prints the tables of docs/replay.md.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from poolsplit.answers.trace_replay import replay_of
from poolsplit.api import read_trace

if TYPE_CHECKING:
    from poolsplit.traces.trace import Trace

SESSIONS = (8, 32, 64)
KV_TOKENS = (500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000)
STATE_SLOTS = (48, 80, 160, 320, 640, 1280)
AMPLE = {"kv_tokens": 64_000_000, "state_slots": 6_000}
RUNNING = 8
RATES = {"prefill_tokens_per_s": 20_000.0, "decode_tokens_per_s": ((1, 80.0), (32, 40.0))}


def hits(trace: Trace, sessions: int, **server: int) -> float:
    """Share of input tokens reused by a closed loop of so many sessions."""
    pace = {"clock": "closed", "sessions": sessions, **RATES}
    options = {**AMPLE, "max_running_requests": RUNNING, **server}
    summary = replay_of(trace, version="0.5.23", server=options, pace=pace).summary
    return summary.cached_tokens / max(1, summary.input_tokens)


def row(name: str, values: list[float]) -> str:
    """One line of a table, in percent."""
    return f"| {name} | " + " | ".join(f"{100 * value:.1f}" for value in values) + " |"


def head(first: str, names: list[str]) -> str:
    """Two head lines of a table."""
    return f"| {first} | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names)


def main() -> int:
    """Prints three tables."""
    trace = read_trace(sys.argv[1:])
    print(head("KV tokens, states ample", [f"{kv / 1e6:g}M" for kv in KV_TOKENS]))
    for sessions in SESSIONS:
        print(row(f"{sessions} sessions", [hits(trace, sessions, kv_tokens=kv) for kv in KV_TOKENS]), flush=True)
    print("\n" + head("state slots, KV ample", [str(slots) for slots in STATE_SLOTS]))
    for sessions in SESSIONS:
        print(row(f"{sessions} sessions", [hits(trace, sessions, state_slots=n) for n in STATE_SLOTS]), flush=True)
    print("\n" + head("96 state slots, KV ample", ["16 sessions", "64 sessions"]))
    for name, options in (("no cap", {}), ("cap 3", {"max_states_per_path": 3}), ("cap 1", {"max_states_per_path": 1})):
        print(row(name, [hits(trace, n, state_slots=96, **options) for n in (16, 64)]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
