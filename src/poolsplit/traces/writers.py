"""Traces in the formats of others, and what each of them cannot say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import msgspec
import numpy as np

from poolsplit.errors import InputError
from poolsplit.traces.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from poolsplit.traces.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A format to write, by what it can say."""

    write: Callable[[Trace, IO[bytes]], None]
    blocks: bool = True
    needs_blocks: bool = True
    needs_times: bool = False
    block_size: bool = False
    one_clock: bool = False
    session_clocks: bool = False
    sessions: bool = False
    agents: bool = False
    think_times: bool = False
    service_times: bool = False


def write_mooncake(trace: Trace, out: IO[bytes]) -> None:
    """Mooncake JSONL, every row with its whole prompt; without timestamps when the trace has none."""
    paths = Paths(trace)
    timed = trace.origin.clock != "order"
    has_ids = trace.block_tokens is not None
    for row in range(len(trace)):
        line: dict[str, Any] = {"timestamp": _whole(trace.arrival_s[row] * 1000)} if timed else {}
        line |= {"input_length": int(trace.input_tokens[row]), "output_length": int(trace.output_tokens[row])}
        if has_ids:
            line["hash_ids"] = paths.ids(row).tolist()
        out.write(msgspec.json.encode(line) + b"\n")


def write_bailian(trace: Trace, out: IO[bytes]) -> None:
    """Qwen-Bailian JSONL: a chat a row, its parent the row that it follows."""
    paths = Paths(trace)
    turn = _turns(trace)
    for row in range(len(trace)):
        line = {
            "chat_id": row,
            "parent_chat_id": int(trace.after[row]),
            "timestamp": float(trace.arrival_s[row]),
            "input_length": int(trace.input_tokens[row]),
            "output_length": int(trace.output_tokens[row]),
            "type": "text",
            "turn": turn[row],
            "hash_ids": paths.ids(row).tolist(),
        }
        out.write(msgspec.json.encode(line) + b"\n")


def write_token_trace(trace: Trace, out: IO[bytes]) -> None:
    """Token trace JSONL: tokens are numbers that are equal exactly where prompts are."""
    block_tokens = trace.require_blocks("a token trace")
    paths = Paths(trace)
    private = int(trace.new_blocks.sum()) * block_tokens
    within = np.arange(block_tokens)
    for row in range(len(trace)):
        total = int(trace.input_tokens[row])
        tokens = (paths.ids(row)[:, None] * block_tokens + within).reshape(-1)[:total]
        tail = np.arange(private, private + total - tokens.size)
        private += tail.size
        line: dict[str, Any] = {
            "input_tokens": np.concatenate([tokens, tail]).tolist(),
            "num_output_tokens": int(trace.output_tokens[row]),
        }
        if trace.origin.clock != "order":
            line["ts"] = float(trace.arrival_s[row])
        if trace.origin.sessions_known:
            line["session_id"] = _session_name(trace, row)
        out.write(msgspec.json.encode(line) + b"\n")


def write_azure(trace: Trace, out: IO[bytes]) -> None:
    """Azure CSV; times count from the first day of 1970."""
    out.write(b"TIMESTAMP,ContextTokens,GeneratedTokens\n")
    for arrival_s, inputs, outputs in _length_rows(trace):
        ticks = round(arrival_s * 1e7)
        date = np.datetime64(ticks // 10**7, "s").astype(str).replace("T", " ")
        out.write(f"{date}.{ticks % 10**7:07d},{inputs},{outputs}\n".encode())


def write_burstgpt(trace: Trace, out: IO[bytes]) -> None:
    """BurstGPT CSV; the model is not known and named so."""
    out.write(b"Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
    for row, (arrival_s, inputs, outputs) in enumerate(_length_rows(trace)):
        session = _session_name(trace, row) if trace.origin.sessions_known else ""
        cells = [repr(arrival_s), session, "unknown", inputs, outputs, inputs + outputs, "API log"]
        out.write((",".join(map(str, cells)) + "\n").encode())


def _length_rows(trace: Trace) -> Iterator[tuple[float, int, int]]:
    yield from zip(trace.arrival_s.tolist(), trace.input_tokens.tolist(), trace.output_tokens.tolist(), strict=True)


def _session_name(trace: Trace, row: int) -> str:
    session = int(trace.session[row])
    return trace.session_names[session] if trace.session_names else f"s{session}"


def _turns(trace: Trace) -> list[int]:
    turns: list[int] = []
    for before in trace.after.tolist():
        turns.append(1 if before < 0 else turns[before] + 1)
    return turns


def _whole(value: float) -> int | float:
    """A whole number when the value is one to a millionth, so that times written as integers come back as integers."""
    nearest = round(value)
    return nearest if abs(value - nearest) < 1e-6 * max(1.0, abs(value)) * 1e-3 else float(value)


def check_target(trace: Trace, name: str, target: Target) -> None:
    """Refuses what a format cannot hold at all.

    Raises:
        InputError: It needs block ids or times that the trace does not have.
    """
    if target.needs_blocks:
        trace.require_blocks(f"the format `{name}`")
    if target.needs_times and trace.origin.clock == "order":
        raise InputError(
            f"the format `{name}` needs times, and this trace has only an order",
            hint="write `mooncake`, `token-trace` or `pst`",
        )


def losses(trace: Trace, target: Target) -> list[str]:
    """What of this trace the format cannot say, one line each; nothing when it says all."""
    has_blocks = trace.block_tokens is not None
    facts = (
        (has_blocks and not target.blocks, "which prompts share a prefix"),
        (has_blocks and target.blocks and not target.block_size,
         f"the block size: read it with `--block-tokens {trace.block_tokens}`"),
        (trace.origin.sessions_known and not target.sessions, "which requests belong to one session"),
        (trace.origin.clock == "session" and not target.session_clocks,
         "that each session has a clock of its own: all sessions are written as starting at once"),
        (trace.origin.clock == "trace" and not target.one_clock, "when sessions start relative to each other"),
        (bool(np.any(trace.agent)) and not target.agents, "which requests are subagents'"),
        (not np.isnan(trace.think_s).all() and not target.think_times, "think times"),
        (not np.isnan(trace.service_s).all() and not target.service_times, "service times"),
    )  # fmt: skip
    return [text for lost, text in facts if lost]
