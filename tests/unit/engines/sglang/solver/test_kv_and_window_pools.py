"""Rows from bytes: whole pages, caps, stages without attention, and pools with a window beside them."""

from dataclasses import replace

import pytest

from pool_launches import resolved
from poolsplit.engines.sglang.solver.kv_pool import UNBOUNDED_TOKENS, KvPool, PlainSizer, capped
from poolsplit.engines.sglang.solver.unified import unified_bytes
from poolsplit.engines.sglang.solver.window_pool import (
    CappedWindowSizer,
    WindowRows,
    WindowSizer,
    request_cap_tokens,
    search_full_tokens,
)
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import LaunchRefusedError

ROWS = WindowRows(full_row_bytes=1000, window_layer_bytes=50, window_layers=4)


def sizer(**changes):
    base = {
        "rows": ROWS,
        "ratio": 0.8,
        "window_tokens": 512,
        "page_size": 16,
        "has_full_layers": True,
        "checks_window": True,
        "share_per_layer": False,
        "searches": False,
    }
    return WindowSizer(**{**base, **changes})


def reason(call):
    with pytest.raises(LaunchRefusedError) as refused:
        call()
    assert refused.value.stage == "solver[pp_rank=1]"
    return refused.value.reason


def test_plain_rows_come_in_whole_pages():
    plain = PlainSizer(cell_bytes=100, page_size=64, rowless_tokens=None)
    assert plain.from_bytes(100 * 200 + 99, 0) == KvPool(kv_tokens=192)
    assert reason(lambda: plain.from_bytes(100 * 63, 1)) == "kv_pool_empty"


def test_rows_without_bytes():
    rowless = PlainSizer(cell_bytes=0, page_size=64, rowless_tokens=UNBOUNDED_TOKENS)
    assert rowless.from_bytes(1, 0).kv_tokens == UNBOUNDED_TOKENS // 64 * 64
    early = PlainSizer(cell_bytes=0, page_size=64, rowless_tokens=None)
    assert reason(lambda: early.from_bytes(1, 1)) == "stage_without_attention"


def test_a_cap_that_binds_is_aligned_again():
    plain = PlainSizer(cell_bytes=100, page_size=64, rowless_tokens=None)
    pool = KvPool(kv_tokens=6400)
    assert capped(pool, plain, None, 0) is pool
    assert capped(pool, plain, 6400, 0) is pool
    assert capped(pool, plain, 1000, 0).kv_tokens == 960
    assert reason(lambda: capped(pool, plain, 1, 1)) == "kv_pool_empty"


def test_window_rows_ride_in_their_ratio():
    windowed = sizer()
    assert windowed.cell_bytes == 1000 + 0.8 * 200
    pool = windowed.from_bytes(1160 * 10_000 + 1159, 0)
    assert pool == KvPool(kv_tokens=10_000, full_tokens=10_000, window_tokens=8_000)


def test_the_share_is_rounded_in_the_order_of_the_release():
    rows = replace(ROWS, window_layer_bytes=3072, window_layers=32)
    early, late = sizer(rows=rows, ratio=0.1, share_per_layer=True), sizer(rows=rows, ratio=0.1)
    assert early.cell_bytes == 1000 + 0.1 * 3072 * 32
    assert late.cell_bytes == 1000 + 0.1 * (3072 * 32)


def test_a_window_pool_below_one_request_is_refused_unless_memory_is_unified():
    assert reason(lambda: sizer().from_tokens(640, 1)) == "swa_pool_below_one_request"
    assert sizer(checks_window=False).from_tokens(640, 1).window_tokens == 512
    assert reason(lambda: sizer(checks_window=False).from_tokens(15, 1)) == "kv_pool_empty"


def test_a_model_of_windows_alone_has_no_full_pool():
    rows = WindowRows(full_row_bytes=0, window_layer_bytes=50, window_layers=4)
    alone = sizer(rows=rows, has_full_layers=False)
    assert alone.cell_bytes == 200
    assert alone.from_bytes(200 * 100, 0) == KvPool(kv_tokens=96, full_tokens=0, window_tokens=96)


def test_a_capped_window_pool_leaves_the_rest_to_full_rows():
    held = CappedWindowSizer(base=sizer(), cap_tokens=1001, draft_in_full=True)
    pool = held.from_bytes(1008 * 200 + 1000 * 160, 0)
    assert pool == KvPool(kv_tokens=160, full_tokens=160, window_tokens=1008)
    assert held.cell_bytes == sizer().cell_bytes
    assert held.from_tokens(100, 0) == KvPool(kv_tokens=96, full_tokens=96, window_tokens=100)
    assert reason(lambda: held.from_bytes(1008 * 200, 1)) == "swa_cap_leaves_no_kv"
    assert reason(lambda: held.from_tokens(5, 1)) == "kv_pool_empty"


@pytest.mark.parametrize(("counted", "tokens"), [(True, 80), (False, 160)])
def test_a_drafts_own_rows_beside_a_capped_window_pool(counted, tokens):
    rows = replace(ROWS, draft_row_bytes=1000)
    held = CappedWindowSizer(base=sizer(rows=rows), cap_tokens=1008, draft_in_full=counted)
    assert held.from_bytes(1008 * 200 + 1000 * 160, 0).kv_tokens == tokens


def test_a_search_finds_the_largest_pools_whose_draft_spans_the_buffer():
    rows = replace(ROWS, full_row_bytes=1200, draft_full_row_bytes=200)
    searching = sizer(rows=rows, searches=True)
    budget = 10_000_000

    def allocated(tokens):
        target = tokens * 1000 + tokens * 8 // 10 // 16 * 16 * 200
        spanned = -(-max(target // 1000 - 1, 0) // 16) * 16 + 16
        return target + spanned * 200

    tokens = searching.from_bytes(budget, 0).kv_tokens
    assert tokens == search_full_tokens(searching, budget)
    assert allocated(tokens) <= budget < allocated(tokens + 16)
    assert search_full_tokens(searching, 10) == 0


PLAIN = {"page_size": 64, "chunked_prefill_size": 8192, "disable_overlap_schedule": False}


@pytest.mark.parametrize(
    ("changes", "tokens"),
    [
        ({}, (512 + 128 + 64 + 64) * 10 + 2 * 8192 + 64),
        ({"disable_overlap_schedule": True}, (512 + 128 + 64 + 64) * 10 + 8192 + 64),
        ({"swa_eviction_interval": 0}, (512 + 1 + 64 + 64) * 10 + 2 * 8192 + 64),
        ({"disaggregation_mode": "decode", "decode_extra_slots": 4}, (512 + 128 + 64 + 64) * 10 + (512 + 64) * 4),
    ],
)
def test_the_cap_of_running_requests(changes, tokens):
    assert request_cap_tokens(resolved(**{**PLAIN, **changes}), 512, 10) == tokens


@pytest.mark.parametrize(
    ("changes", "step"),
    [
        ({"speculative_eagle_topk": 1}, 2 * 4),
        ({"speculative_eagle_topk": 2}, 2 * 2 * 128),
        ({"speculative_eagle_topk": 2, "speculative_algorithm": "NGRAM"}, 2 * 6),
        ({"speculative_eagle_topk": 1, "page_size": 1}, 2 * 4),
        ({"speculative_eagle_topk": 1, "disable_overlap_schedule": True}, 64),
        ({"speculative_eagle_topk": 2, "disable_overlap_schedule": True}, 2 * 128),
        ({"speculative_eagle_topk": 2, "disable_overlap_schedule": True, "page_size": 1}, 6),
    ],
)
def test_rows_of_one_speculative_step(changes, step):
    drafting = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4}
    flags = resolved(**{**PLAIN, **drafting, **changes})
    chunks = 1 if flags.disable_overlap_schedule else 2
    want = (512 + 128 * 4 + flags.page_size + step) * 10 + chunks * 8192 + flags.page_size
    assert request_cap_tokens(flags, 512, 10) == want


def test_unified_memory_records_its_bytes_from_one_release_on():
    flags = resolved(enable_unified_memory=True)
    assert unified_bytes(10_000, flags, switches_for("0.5.19"), recapped=False) == 8192
    assert unified_bytes(10_000, flags, switches_for("0.5.18"), recapped=False) is None
    assert unified_bytes(10_000, flags, switches_for("0.5.19"), recapped=True) is None
    assert unified_bytes(10_000, resolved(), switches_for("0.5.19"), recapped=False) is None


def test_a_stage_without_window_layers_is_refused():
    bare = sizer(rows=replace(ROWS, window_layers=0))
    assert reason(lambda: bare.from_bytes(10**9, 1)) == "stage_without_window"
    held = CappedWindowSizer(base=bare, cap_tokens=1001, draft_in_full=True)
    assert reason(lambda: held.from_bytes(10**9, 1)) == "stage_without_window"
