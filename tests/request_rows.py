"""Small random request rows with shared prefixes, and the same rows spelled out for the exact replay."""

from dataclasses import dataclass

import numpy as np

from poolsplit.replay.workload import Request, Workload

RANGE = 1 << 16
"""Token ids of one range of the request tree start at its number times this."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    parent: np.ndarray
    kept_blocks: np.ndarray
    new_blocks: np.ndarray
    previous: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray
    block_tokens: int


def fold(prompts, previous, inputs, outputs, block_tokens):
    """Columns of prompts given as lists of block ids."""
    maker, rows = {}, []
    for row, prompt in enumerate(prompts):
        node, kept, parent = (), 0, -1
        for block in prompt:
            if (*node, block) not in maker:
                break
            node = (*node, block)
            kept, parent = kept + 1, maker[node]
        for block in prompt[kept:]:
            node = (*node, block)
            maker[node] = row
        rows.append((parent, kept, len(prompt) - kept))
    parent, kept, new = np.array(rows, dtype=np.int64).T.copy()
    names = ("parent", "kept_blocks", "new_blocks", "previous", "input_tokens", "output_tokens")
    columns = (parent, kept, new, *(np.array(c, dtype=np.int64) for c in (previous, inputs, outputs)))
    return Rows(**dict(zip(names, columns, strict=True)), block_tokens=block_tokens)


def random_rows(rng, count, *, block_tokens=16, sessions=3, longest=60):
    """Turns of a few conversations that grow, branch, start over and sometimes repeat a prompt."""
    prompts, previous, inputs, outputs, last, fresh = [], [], [], [], {}, [0]

    def blocks(n):
        fresh[0] += n
        return list(range(fresh[0] - n, fresh[0]))

    for row in range(count):
        who = int(rng.integers(sessions))
        before = last.get(who, -1)
        base = [] if before < 0 else prompts[before][: inputs[before] // block_tokens]
        kind = rng.random()
        if kind < 0.1 and before >= 0:
            prompt = list(prompts[before])
        elif kind < 0.25 and base:
            prompt = base[: int(rng.integers(len(base) + 1))] + blocks(int(rng.integers(1, 8)))
        elif kind < 0.3 or len(base) > longest:
            prompt = blocks(int(rng.integers(1, 20)))
        else:
            prompt = base + blocks(int(rng.integers(1, 12)))
        last[who] = row
        prompts.append(prompt)
        previous.append(before)
        inputs.append(len(prompt) * block_tokens - int(rng.integers(block_tokens)))
        outputs.append(int(rng.integers(1, 60)))
    return fold(prompts, previous, inputs, outputs, block_tokens)


def spelled_out(tree):
    """The rows of a request tree as requests of the exact replay, one at a time."""
    requests = []
    for row in range(len(tree)):
        runs = [(at * RANGE + begin, end - begin) for at, begin, end in tree.runs(row)][::-1]
        prompt = int(tree.prompt[row])
        requests.append(Request(id=str(row), prompt=_cut(runs, 0, prompt), output=_cut(runs, prompt, 1 << 60)))
    return Workload(requests=tuple(requests))


def _cut(runs, begin, end):
    kept, at = [], 0
    for first, count in runs:
        low, high = max(begin, at), min(end, at + count)
        if low < high:
            kept.append((first + low - at, high - low))
        at += count
    return tuple(kept)


def one_by_one(rows):
    """Starts and finishes of requests that never overlap."""
    events = np.empty(2 * rows, np.int64)
    events[0::2] = np.arange(rows)
    events[1::2] = -1 - np.arange(rows)
    return events
