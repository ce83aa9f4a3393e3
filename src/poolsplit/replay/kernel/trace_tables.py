"""A trace as the kernel's arrays. A block id stands for its tokens: token k of block b has the id b * block + k.

Outputs carry no ids. When the next row of the same conversation begins with a request's whole prompt, its next tokens
are that request's output; otherwise an output is shared with nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numba
import numpy as np

from poolsplit.replay.kernel.layout import RUN, SESSION, Records
from poolsplit.replay.kernel.pacing import NOBODY
from poolsplit.replay.kernel.tables import Tables, unsent

if TYPE_CHECKING:
    from collections.abc import Callable

    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.trace_columns import Ints, TraceColumns

Function = TypeVar("Function", bound="Callable[..., Any]")


def kept_on_disk(function: Function) -> Function:
    """Compiles a function that Python calls; all that it calls stands in this file, so its date is enough."""
    return cast("Function", numba.njit(cache=True, error_model="numpy")(function))


Clock = Literal["order", "recorded", "closed"]
"""Rows are sent in their order, at their recorded arrivals, or by sessions that wait for their answers."""


def tables_of_trace(config: ReplayConfig, trace: TraceColumns, clock: Clock) -> Tables:
    """The requests of a trace; the server's limits clip their outputs."""
    closed = clock == "closed"
    requests = unsent(trace.input_tokens.size)
    requests["prompt"] = np.maximum(trace.input_tokens, 1)
    requests["max_new"] = _granted(config, requests["prompt"], np.maximum(trace.output_tokens, 1))
    requests["final_outputs"] = np.maximum(requests["max_new"], 1)
    requests["due_s"], requests["think_s"] = np.nan_to_num(trace.arrival_s), np.nan_to_num(trace.think_s)
    requests["session"] = trace.session
    tree = (trace.parent, trace.kept_blocks, trace.new_blocks, trace.first_block)
    lengths = requests["prompt"] + requests["final_outputs"]
    runs = _sequences(tree, trace.block_tokens, _answered_by(trace.previous), requests["prompt"], lengths)
    requests["first_run"] = runs[1][:-1]
    sessions = np.zeros(int(trace.session.max(initial=-1)) + 1 if closed else 0, SESSION)
    due = np.zeros(requests.size + 1, np.int64)
    if closed:
        sessions["first_starter"] = NOBODY
        _link(requests, sessions, trace.after)
    if clock == "recorded":
        due[:-1] = np.argsort(trace.arrival_s, kind="stable")
    due_count = requests.size if clock == "recorded" else 0
    return Tables(runs=runs[0], requests=requests, sessions=sessions, due=due, due_count=due_count)


def _granted(config: ReplayConfig, prompt: Ints, asked: Ints) -> Ints:
    """Output limits as the server grants them: `arithmetic.new_tokens_asked`, for a column."""
    page = config.page_tokens
    paged = -(-prompt // page) * page
    granted = np.minimum(asked, config.request_limit_tokens - prompt - 1)
    return np.maximum(0, np.minimum(granted, config.kv_tokens - paged - page - 1))


@kept_on_disk
def _answered_by(previous: Ints) -> Ints:
    """The first row that goes on with the conversation of each row, or -1."""
    answer = np.full(previous.size, NOBODY, np.int64)
    for row in range(previous.size - 1, -1, -1):
        if previous[row] >= 0:
            answer[previous[row]] = row
    return answer


@kept_on_disk
def _link(requests: Records, sessions: Records, after: Ints) -> None:
    """Chains the followers of each request and the starters of each session, in row order."""
    for row in range(after.size - 1, -1, -1):
        session = sessions[requests[row].session]
        session.left += 1
        if after[row] >= 0:
            requests[row].next_follower = requests[after[row]].first_follower
            requests[after[row]].first_follower = row
        else:
            requests[row].next_starter = session.first_starter
            session.first_starter = row


@kept_on_disk
def _pieces(tree: tuple[Ints, Ints, Ints, Ints], row: int) -> int:
    """Ranges of one path."""
    parent, kept, new, _ = tree
    pieces, end = 0, kept[row] + new[row]
    while row >= 0 and end > 0:
        pieces += end > kept[row]
        end, row = min(end, kept[row]), parent[row]
    return pieces


@kept_on_disk
def _fill(tree: tuple[Ints, Ints, Ints, Ints], row: int, runs: Records, block: int) -> int:
    """Writes the path of one row as runs, from its end to its beginning; gives its tokens."""
    parent, kept, new, first = tree
    end = kept[row] + new[row]
    tokens, at = end * block, runs.size - 1
    while row >= 0 and end > 0:
        if end > kept[row]:
            runs[at].origin = (first[row] - kept[row]) * block
            runs[at].end = end * block
            at -= 1
        end, row = min(end, kept[row]), parent[row]
    return tokens


@kept_on_disk
def _shared(one: Records, other: Records, limit: int) -> int:
    """Tokens that two paths share, at most `limit`."""
    i, j, at = 0, 0, 0
    while at < limit and i < one.size and j < other.size and one[i].origin == other[j].origin:
        at = min(one[i].end, other[j].end)
        i += one[i].end == at
        j += other[j].end == at
    return min(at, limit)


@kept_on_disk
def _sequences(
    tree: tuple[Ints, Ints, Ints, Ints], block: int, answer: Ints, prompt: Ints, lengths: Ints
) -> tuple[Records, Ints]:
    """The runs of all sequences, prompt and output, and where each sequence begins among them."""
    rows = prompt.size
    begins = np.zeros(rows + 1, np.int64)
    for row in range(rows):
        longest = _pieces(tree, row)
        if answer[row] >= 0:
            longest = max(longest, _pieces(tree, answer[row]))
        begins[row + 1] = begins[row] + longest + 1
    runs = np.zeros(begins[rows], RUN)
    own_ids = tree[2].sum() * block
    used = 0
    for row in range(rows):
        path = np.zeros(_pieces(tree, row), RUN)
        known = min(_fill(tree, row, path, block), prompt[row])
        if answer[row] >= 0:
            longer = np.zeros(_pieces(tree, answer[row]), RUN)
            tokens = _fill(tree, answer[row], longer, block)
            whole = prompt[row] // block * block
            if tokens >= prompt[row] and _shared(path, longer, whole) == whole:
                path, known = longer, min(tokens, lengths[row])
        begins[row], at = used, 0
        for piece in path:
            if at >= known:
                break
            at = min(piece.end, known)
            runs[used].origin, runs[used].end = piece.origin, at
            used += 1
        if at < lengths[row]:
            runs[used].origin, runs[used].end = own_ids - at, lengths[row]
            own_ids += lengths[row] - at
            used += 1
    begins[rows] = used
    return runs[:used].copy(), begins
