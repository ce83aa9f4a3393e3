"""One trace, written in another format."""

from __future__ import annotations

from functools import partial
from typing import IO, TYPE_CHECKING

from poolsplit.errors import UsageError
from poolsplit.traces import compact
from poolsplit.traces.reading import MOST_TOKENS
from poolsplit.traces.reblock import reblock
from poolsplit.traces.weka_writer import write_weka
from poolsplit.traces.writers import (
    Target,
    check_target,
    losses,
    write_azure,
    write_bailian,
    write_burstgpt,
    write_mooncake,
    write_token_trace,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.traces.trace import Trace

_EVERYTHING = {
    "block_size": True,
    "one_clock": True,
    "session_clocks": True,
    "sessions": True,
    "agents": True,
    "think_times": True,
    "service_times": True,
}
TARGETS = {
    "pst": Target(write=compact.write, needs_blocks=False, **_EVERYTHING),
    "mooncake": Target(write=write_mooncake, needs_blocks=False, one_clock=True),
    "weka": Target(write=write_weka, needs_times=True, **{**_EVERYTHING, "one_clock": False}),
    "bailian": Target(write=write_bailian, needs_times=True, one_clock=True, sessions=True),
    "token-trace": Target(write=write_token_trace, block_size=True, one_clock=True, sessions=True),
    "azure": Target(write=write_azure, blocks=False, needs_blocks=False, needs_times=True, one_clock=True),
    "burstgpt": Target(
        write=write_burstgpt, blocks=False, needs_blocks=False, needs_times=True, one_clock=True, sessions=True
    ),
}
SPELLED_BLOCK_TOKENS = {"mooncake": 512, "weka": 64, "bailian": 16}
"""Block size of a format whose ids are spelled out, for a trace in blocks of one token."""


NOT_CARRIED = {
    "weka": "model names, stop reasons, kinds of content, times to the first token, lengths of tools and system prompt",
    "bailian": "types of requests",
    "tracelab": "models, tools and events",
    "burstgpt": "models and kinds of log",
    "agentic-trace": "texts",
    "sharegpt": "texts",
    "openai": "texts, models and sampling parameters",
}
"""What a format says and a trace here does not keep."""


def prepare(trace: Trace, name: str, block_tokens: int | None) -> tuple[Callable[[IO[bytes]], None], list[str]]:
    """What writes the trace, and what will be lost.

    Raises:
        UsageError: A format that cannot be written.
        InputError: The trace lacks what the format needs.
    """
    if name not in TARGETS:
        raise UsageError(f"`{name}` cannot be written", hint=f"formats to write are {', '.join(TARGETS)}")
    if block_tokens is not None and not 1 <= block_tokens <= MOST_TOKENS:
        hint = f"give a whole number of tokens from 1 to {MOST_TOKENS}"
        raise UsageError(f"`--to-block-tokens` is {block_tokens}", hint=hint)
    target = TARGETS[name]
    check_target(trace, name, target)
    lost: list[str] = []
    if block_tokens is None and trace.block_tokens == 1 and name in SPELLED_BLOCK_TOKENS:
        block_tokens = SPELLED_BLOCK_TOKENS[name]
    if block_tokens is not None and trace.block_tokens is not None and block_tokens != trace.block_tokens:
        if block_tokens > trace.block_tokens:
            lost.append(f"sharing within a block: blocks grow from {trace.block_tokens} to {block_tokens} tokens")
        trace = reblock(trace, block_tokens)
    usual = trace.block_tokens == SPELLED_BLOCK_TOKENS.get(name)
    lost += [text for text in losses(trace, target) if not (usual and text.startswith("the block size"))]
    if trace.origin.format in NOT_CARRIED:
        lost.append(f"of {trace.origin.format}, in any format: {NOT_CARRIED[trace.origin.format]}")
    return partial(target.write, trace), lost
