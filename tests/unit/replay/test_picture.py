"""The instant picture: exact with endless pools, exact along the KV axis where no state is ever lost, monotone."""

from dataclasses import replace

import numpy as np
import pytest

from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.ordered.order import in_order
from poolsplit.replay.ordered.picture import picture
from poolsplit.replay.ordered.request_tree import build_request_tree
from poolsplit.replay.ordered.run import ordered_replay
from request_rows import one_by_one, random_rows

ENDLESS = 1 << 60
CONFIG = ReplayConfig(
    rules=cache_rules(),
    kv_tokens=ENDLESS,
    state_slots=ENDLESS,
    state_chunk_tokens=4,
    chunk_tokens=64,
    track_interval_tokens=8,
    refresh_waiting=False,
)
SLOTS = (3, 5, 8, 12, 20, 40, ENDLESS)
TOKENS = (300, 600, 1000, 2000, 4000, 8000, ENDLESS)


@pytest.fixture(params=range(6))
def tree(request):
    rows = random_rows(np.random.default_rng(request.param), 120)
    return build_request_tree(rows, rows.block_tokens)


def test_with_endless_pools_it_is_the_replay(tree):
    exact = ordered_replay(CONFIG, tree, one_by_one(len(tree))).cached_tokens
    assert picture(CONFIG, tree, one_by_one(len(tree)), (SLOTS, TOKENS))[-1, -1] == exact > 0


def test_more_of_either_pool_never_gives_less(tree):
    for outstanding in (1, 5):
        cached = picture(CONFIG, tree, in_order(len(tree), outstanding), (SLOTS, TOKENS))
        assert (np.diff(cached, axis=0) >= 0).all()
        assert (np.diff(cached, axis=1) >= 0).all()


def test_it_is_optimistic_on_the_whole(tree):
    cached = picture(CONFIG, tree, one_by_one(len(tree)), (SLOTS, TOKENS))
    for row, slots in enumerate(SLOTS[1:], 1):
        for column, tokens in enumerate(TOKENS[3:], 3):
            exact = ordered_replay(replace(CONFIG, state_slots=slots, kv_tokens=tokens), tree, one_by_one(len(tree)))
            if exact.out_of is None:
                assert cached[row, column] >= 0.9 * exact.cached_tokens
