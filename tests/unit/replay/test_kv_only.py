"""What KV blocks alone would promise: the published curves, and a cache kept block by block."""

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from poolsplit import api
from poolsplit.replay.kv_only import kv_only_cached_tokens
from request_rows import random_rows

PUBLISHED = {
    "conversation": {100_000: 4.27, 300_000: 4.31, 1_000_000: 5.43, 3_000_000: 13.87, 5_000_000: 21.11,
                     10_000_000: 29.08, 20_000_000: 35.82, 30_000_000: 36.58, 50_000_000: 37.07, 10**12: 37.36},
    "synthetic": {100_000: 1.71, 300_000: 5.51, 1_000_000: 14.51, 3_000_000: 31.51, 5_000_000: 42.83,
                  10_000_000: 57.70, 20_000_000: 65.10, 30_000_000: 65.12, 50_000_000: 65.12, 10**12: 65.12},
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_curves_of_a_kv_only_cache(shared, name):
    trace = api.read_trace([str(shared / "traces" / "mooncake-fast25" / f"{name}_trace.jsonl.gz")])
    order, total = np.arange(len(trace)), trace.input_tokens.sum()
    got = {tokens: 100 * kv_only_cached_tokens(trace, order, tokens) / total for tokens in PUBLISHED[name]}
    assert got == pytest.approx(PUBLISHED[name], abs=0.01)


def spelled(rows):
    """Every prompt as a list of block names."""
    prompts = []
    for row, (parent, kept, new) in enumerate(zip(rows.parent, rows.kept_blocks, rows.new_blocks, strict=True)):
        prompts.append((prompts[parent][:kept] if kept else []) + [(row, block) for block in range(new)])
    return prompts


def answer_blocks(rows, prompts, row):
    """Blocks of the next row of a conversation that this row and its answer fill, if that row sends them back."""
    block, asked = rows.block_tokens, max(1, rows.input_tokens[row])
    for later in np.flatnonzero(rows.previous == row)[:1]:
        whole = asked // block
        sent_back = prompts[later][:whole] == prompts[row][:whole] and len(prompts[row]) >= whole
        if sent_back and len(prompts[later]) * block >= asked:
            return prompts[later][: (asked + max(1, rows.output_tokens[row])) // block]
    return []


def block_by_block(rows, order, blocks):
    """Reused tokens with a list of blocks, most recent last."""
    prompts, cache, reused = spelled(rows), OrderedDict(), 0
    for row in order:
        held = 0
        while held < len(prompts[row]) and prompts[row][held] in cache:
            held += 1
        reused += min(held * rows.block_tokens, rows.input_tokens[row])
        for path in (prompts[row], answer_blocks(rows, prompts, row)):
            for name in reversed(path):
                cache.pop(name, None)
                cache[name] = True
            while len(cache) > blocks:
                cache.popitem(last=False)
    return reused


@pytest.mark.parametrize("seed", range(60))
def test_extents_are_blocks(seed):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(1, 80)), sessions=int(rng.integers(1, 6)))
    shuffled = rng.permutation(rows.parent.size)[: int(rng.integers(1, rows.parent.size + 1))]
    for order in (np.arange(rows.parent.size), shuffled):
        for blocks in (0, 1, 7, 30, 100, 300, 10**6):
            got = kv_only_cached_tokens(rows, order, blocks * rows.block_tokens + 3)
            assert got == block_by_block(rows, order, blocks)


def test_an_answer_sent_back_is_cached_and_one_that_is_not_takes_no_room():
    """Row 1 sends back 32 tokens of prompt and 32 of answer."""
    columns = {
        "parent": [-1, 0, 1], "kept_blocks": [0, 2, 4], "new_blocks": [2, 3, 0], "previous": [-1, 0, -1],
        "input_tokens": [32, 80, 64], "output_tokens": [40, 1000, 1],
    }  # fmt: skip
    rows = SimpleNamespace(**{name: np.array(column) for name, column in columns.items()}, block_tokens=16)
    assert kv_only_cached_tokens(rows, np.arange(3), 10_000) == 64 + 64
