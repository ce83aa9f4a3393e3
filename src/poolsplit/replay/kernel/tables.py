"""Requests as the kernel's arrays: their sequences as runs of token ids, and one unsent record each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from poolsplit.replay.arithmetic import NONE, new_tokens_asked
from poolsplit.replay.kernel.layout import REQUEST, RUN, SESSION
from poolsplit.replay.kernel.pacing import NOBODY
from poolsplit.replay.plan import planned_output

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.workload import Workload

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What the kernel needs to know about the requests of one replay."""

    runs: Array
    """Token ids of all sequences, each sequence's runs in one piece."""
    requests: Array
    """One unsent record a request, in the order of their sequences."""
    sessions: Array
    """One record a session of a closed loop."""
    due: Array
    """Requests that wait for their time, earliest first; room for all of them."""
    due_count: int


def unsent(count: int) -> Array:
    """Records of requests that nobody has seen yet."""
    requests = np.zeros(count, REQUEST)
    for name in ("last", "previous", "branch", "matched"):
        requests[name] = NONE
    for name in ("first_follower", "next_follower", "next_starter"):
        requests[name] = NOBODY
    requests["reopens"] = True
    return requests


def clip_outputs(config: ReplayConfig, prompt: int, asked: int) -> int:
    """Length limit of an output as the server grants it."""
    return new_tokens_asked(asked, prompt, config.request_limit_tokens, config.kv_tokens, config.page_tokens)


def tables_of(config: ReplayConfig, workload: Workload) -> Tables:
    """The requests of a golden workload."""
    requests = unsent(len(workload.requests))
    origins: list[int] = []
    ends: list[int] = []
    for request, record in zip(workload.requests, requests, strict=True):
        prompt = request.prompt_tokens
        max_new = clip_outputs(config, prompt, request.asked_tokens)
        output = planned_output(request, max_new)
        record["first_run"], record["prompt"], record["max_new"] = len(origins), prompt, max_new
        record["final_outputs"] = sum(count for _, count in output)
        record["ignores_stop"], record["arrival"] = request.ignores_stop, request.arrival_step
        position = 0
        for start, count in (*request.prompt, *output):
            origins.append(start - position)
            position += count
            ends.append(position)
    runs = np.zeros(len(origins), RUN)
    runs["origin"], runs["end"] = origins, ends
    return Tables(runs=runs, requests=requests, sessions=np.zeros(0, SESSION), due=np.zeros(1, np.int64), due_count=0)
