"""With states unlimited and a checkpoint at every block, the KV column is the published KV-only LRU curve."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from poolsplit import api
from poolsplit.engines.sglang.cache_rules import cache_rules
from poolsplit.replay.config import ReplayConfig
from poolsplit.replay.ordered.order import in_order
from poolsplit.replay.ordered.picture import picture
from poolsplit.replay.ordered.request_tree import build_request_tree
from poolsplit.replay.ordered.run import ordered_replay

BLOCK = 512
ENDLESS = 1 << 60
CAPACITIES = (300_000, 1_000_000, 3_000_000, 5_000_000, 10_000_000, 20_000_000, 30_000_000, 50_000_000)
HIT_PERCENT = {
    "conversation": (4.31, 5.43, 13.87, 21.11, 29.08, 35.82, 36.58, 37.07),
    "synthetic": (5.51, 14.51, 31.51, 42.83, 57.70, 65.10, 65.12, 65.12),
}


@pytest.mark.parametrize("name", HIT_PERCENT)
def test_the_kv_column_is_the_curve_of_a_kv_only_cache(shared, name):
    trace = api.read_trace([str(shared / "traces" / "mooncake-fast25" / f"{name}_trace.jsonl.gz")])
    whole = SimpleNamespace(
        parent=trace.parent,
        kept_blocks=trace.kept_blocks,
        new_blocks=trace.new_blocks,
        previous=trace.previous,
        input_tokens=trace.blocks * BLOCK + 1,
        output_tokens=np.ones_like(trace.blocks),
    )
    tree, events = build_request_tree(whole, BLOCK), in_order(len(trace), 1)
    config = ReplayConfig(rules=cache_rules(), kv_tokens=ENDLESS, state_slots=ENDLESS, chunk_tokens=BLOCK)
    total = trace.input_tokens.sum()
    for capacity, percent in zip(CAPACITIES, HIT_PERCENT[name], strict=True):
        matched = ordered_replay(replace(config, kv_tokens=capacity + BLOCK + 1), tree, events).matched
        assert 100 * np.minimum(matched, trace.input_tokens).sum() / total == pytest.approx(percent, abs=0.1)
    by_pass = 100 * picture(config, tree, events, ([ENDLESS], CAPACITIES))[0] / total
    assert by_pass.tolist() == pytest.approx(HIT_PERCENT[name], abs=0.13)
