"""Small traces of every format, and reuse counted the slow way."""

import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poolsplit.traces.formats import read_trace
from poolsplit.traces.paths import Paths
from poolsplit.traces.reading import ReadOptions


def jsonl(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read(*paths, **options):
    return read_trace([str(path) for path in paths], ReadOptions(**options))


def spelled(trace):
    """Block ids of every prompt."""
    paths = Paths(trace)
    return [paths.ids(row).tolist() for row in range(len(trace))]


def brute_force_reuse(prompts, scopes, block_tokens, input_tokens):
    """Tokens of each prompt that an earlier prompt of its scope has had: compared with every one of them."""
    result = []
    for row, prompt in enumerate(prompts):
        longest = 0
        for before in range(row):
            if scopes[before] == scopes[row]:
                same = 0
                for one, two in zip(prompt, prompts[before], strict=False):
                    if one != two:
                        break
                    same += 1
                longest = max(longest, same)
        result.append(min(longest * block_tokens, input_tokens[row]))
    return result


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A file of one format, and what reading it must give."""

    content: bytes
    input_tokens: list[int]
    output_tokens: list[int]
    reused_tokens: list[int] | None
    sessions: int | None
    clock: str
    options: dict = field(default_factory=dict)
    bad_line: bytes | None = None
    """A line that, put behind the first, is wrong."""
    bad_path: str = ""
    """JSON path that the error names."""


def _weka_request(t, tokens, ids, **more):
    return {
        "t": t,
        "type": "n",
        "model": "m",
        "in": tokens,
        "out": 9,
        "hash_ids": ids,
        "stop": "",
        "api_time": 1.0,
        **more,
    }


WEKA_SESSION = {
    "id": "a",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "tool_tokens": 64,
    "system_tokens": 64,
    "requests": [
        _weka_request(0.0, 130, [1, 2]),
        _weka_request(5.0, 200, [1, 2, 3], think_time=4.0),
        {
            "t": 10.5,
            "type": "subagent",
            "agent_id": "x",
            "duration_ms": 4000,
            "status": "completed",
            "tool_tokens": 0,
            "system_tokens": 64,
            "requests": [_weka_request(0.0, 64, [9]), _weka_request(2.0, 150, [9, 10])],
        },
        _weka_request(20.0, 260, [1, 2, 3, 4], think_time=14.0),
    ],
}

SAMPLES = {
    "mooncake": Sample(
        content=jsonl(
            {"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [7, 8]},
            {"timestamp": 1000, "input_length": 1500, "output_length": 6, "hash_ids": [7, 9, 11]},
            {"timestamp": 1500, "input_length": 1500, "output_length": 7, "hash_ids": [7, 9, 11]},
        ),
        input_tokens=[1000, 1500, 1500],
        output_tokens=[5, 6, 7],
        reused_tokens=[0, 512, 1500],
        sessions=None,
        clock="trace",
        bad_line=b'{"timestamp": 3, "input_length": -4, "output_length": 5, "hash_ids": []}\n',
        bad_path="$.input_length",
    ),
    "weka": Sample(
        content=jsonl(WEKA_SESSION),
        input_tokens=[130, 200, 64, 150, 260],
        output_tokens=[9] * 5,
        reused_tokens=[0, 128, 0, 64, 192],
        sessions=1,
        clock="session",
        bad_line=json.dumps({**WEKA_SESSION, "id": "b", "requests": [_weka_request(-1.0, 64, [1])]}).encode() + b"\n",
        bad_path="$.requests[0].t",
    ),
    "bailian": Sample(
        content=jsonl(
            {
                "chat_id": 1,
                "parent_chat_id": -1,
                "timestamp": 0.5,
                "input_length": 40,
                "output_length": 4,
                "type": "text",
                "turn": 1,
                "hash_ids": [5, 6, 7],
            },
            {
                "chat_id": 2,
                "parent_chat_id": -1,
                "timestamp": 0.7,
                "input_length": 20,
                "output_length": 4,
                "type": "text",
                "turn": 1,
                "hash_ids": [5, 9],
            },
            {
                "chat_id": 3,
                "parent_chat_id": 1,
                "timestamp": 9.5,
                "input_length": 60,
                "output_length": 4,
                "type": "text",
                "turn": 2,
                "hash_ids": [5, 6, 17, 18],
            },
        ),
        input_tokens=[40, 20, 60],
        output_tokens=[4] * 3,
        reused_tokens=[0, 16, 32],
        sessions=2,
        clock="trace",
        bad_line=b'{"chat_id": 1, "timestamp": 0.6, "input_length": 16, "output_length": 4, "hash_ids": [5]}\n',
        bad_path="$.chat_id",
    ),
    "token-trace": Sample(
        content=jsonl(
            {"input_tokens": [1, 2, 3], "output_tokens": [4, 5], "ts": 0.0, "session_id": "s", "turn_id": 0},
            {"input_tokens": [1, 2, 3, 4, 5, 6], "num_output_tokens": 7, "ts": 2.0, "session_id": "s", "turn_id": 1},
            {"input_tokens": [1, 2, 9], "output_tokens": [1], "ts": 3.0, "session_id": "t", "turn_id": 0},
        ),
        input_tokens=[3, 6, 3],
        output_tokens=[2, 7, 1],
        reused_tokens=[0, 3, 2],
        sessions=2,
        clock="trace",
        bad_line=b'{"input_tokens": [1, 2.5], "output_tokens": [1], "ts": 1.0}\n',
        bad_path="$.input_tokens[1]",
    ),
    "agentic-trace": Sample(
        content=json.dumps(
            {
                "metadata": {},
                "conversations": [
                    [
                        {
                            "messages": [{"role": "system", "content": "s" * 200}, {"role": "user", "content": "u"}],
                            "prompt_tokens": 100,
                        },
                        {"messages": [{"role": "user", "content": "more"}], "prompt_tokens": 400},
                    ],
                    [
                        {
                            "messages": [{"role": "system", "content": "s" * 200}, {"role": "user", "content": "v"}],
                            "prompt_tokens": 100,
                        }
                    ],
                ],
            },
            indent=1,
        ).encode(),
        input_tokens=[100, 400, 100],
        output_tokens=[220] * 3,
        reused_tokens=[0, 100, 88],
        sessions=2,
        clock="order",
    ),
    "shared-prefix": Sample(
        content=b"--gsp-num-groups 2 --gsp-prompts-per-group=2 --gsp-system-prompt-len 100 --gsp-question-len 10"
        b" --gsp-output-len 5 --gsp-ordered\n",
        input_tokens=[110] * 4,
        output_tokens=[5] * 4,
        reused_tokens=[0, 100, 0, 100],
        sessions=4,
        clock="order",
    ),
    "tracelab": Sample(
        content=jsonl(
            *(
                {
                    "session_id": session,
                    "round_index": index,
                    "input_tokens_total": total,
                    "prefix_tokens": prefix,
                    "newly_append_tokens": total - prefix,
                    "output_tokens": 3,
                    "model": "m",
                    "timing_events": [
                        {"event_type": "user_message", "timestamp": f"2026-06-01T05:40:{at:02}.000Z"},
                        {"event_type": "text", "timestamp": f"2026-06-01T05:40:{at + 1:02}.500Z"},
                    ],
                }
                for session, index, total, prefix, at in (
                    ("a", 0, 50, 20, 10),
                    ("a", 1, 90, 48, 20),
                    ("b", 0, 70, 0, 15),
                )
            )
        ),
        input_tokens=[50, 70, 90],
        output_tokens=[3] * 3,
        reused_tokens=[0, 0, 48],
        sessions=2,
        clock="trace",
        bad_line=b'{"session_id": "c", "round_index": 0, "input_tokens_total": 5, "prefix_tokens": 5,'
        b' "newly_append_tokens": 1, "output_tokens": 3, "timing_events": []}\n',
        bad_path="$.input_tokens_total",
    ),
    "azure": Sample(
        content=b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
        b"2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n",
        input_tokens=[374, 396],
        output_tokens=[44, 109],
        reused_tokens=None,
        sessions=None,
        clock="trace",
        bad_line=b"2023-11-16 18:15:47.0000000,-3,44\n",
    ),
    "burstgpt": Sample(
        content=b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        b"5,ChatGPT,472,18,490,Conversation log\n45,ChatGPT,1087,230,1317,Conversation log\n",
        input_tokens=[472, 1087],
        output_tokens=[18, 230],
        reused_tokens=None,
        sessions=None,
        clock="trace",
        bad_line=b"noon,ChatGPT,472,18,490,Conversation log\n",
    ),
    "sharegpt": Sample(
        content=json.dumps(
            [
                {
                    "id": "x",
                    "conversations": [
                        {"from": "human", "value": "a" * 600},
                        {"from": "gpt", "value": "b" * 400},
                        {"from": "human", "value": "c" * 50},
                        {"from": "gpt", "value": "d" * 80},
                    ],
                },
            ]
        ).encode(),
        input_tokens=[152, 267],
        output_tokens=[100, 20],
        reused_tokens=[0, 128],
        sessions=1,
        clock="order",
    ),
    "openai": Sample(
        content=jsonl(
            {
                "messages": [{"role": "user", "content": "a" * 512}],
                "timestamp": 1.7e9,
                "session_id": "s",
                "usage": {"prompt_tokens": 128, "completion_tokens": 11},
            },
            {
                "messages": [{"role": "user", "content": "a" * 512}, {"role": "assistant", "content": "b"}],
                "timestamp": 1.7e9 + 5,
                "session_id": "s",
                "usage": {"prompt_tokens": 140, "completion_tokens": 12},
            },
        ),
        input_tokens=[128, 140],
        output_tokens=[11, 12],
        reused_tokens=[0, 64],
        sessions=1,
        clock="trace",
        bad_line=b'{"messages": [{"role": "user", "content": "x"}], "usage": {"prompt_tokens": -1}}\n',
        bad_path="$.usage.prompt_tokens",
    ),
}


def written(tmp_path, name, content, *, packed=False):
    """A file of a name that says nothing about its format."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


def kept_tokens(trace):
    return np.minimum(trace.kept_blocks * trace.require_blocks("a test"), trace.input_tokens).tolist()
