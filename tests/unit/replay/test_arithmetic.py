"""The rules that are arithmetic, at their edges."""

import pytest

from poolsplit.replay.arithmetic import (
    NONE,
    branching_position,
    donated_position,
    first_chunk,
    new_tokens_asked,
    next_chunk,
    owned_tokens,
    prefill_snapshot,
)


@pytest.mark.parametrize(("hit", "matched", "position"), [(300, 0, 256), (300, 256, NONE), (63, 0, NONE)])
def test_a_branch_is_the_end_of_the_kv_match_on_the_grid(hit, matched, position):
    assert branching_position(hit, matched, 64) == position


@pytest.mark.parametrize(
    ("start", "end", "branch", "position"),
    [
        (0, 63, NONE, NONE),
        (0, 300, NONE, 256),
        (10, 300, NONE, 266),
        (0, 300, 128, 128),
        (10, 300, 128, 266),
        (256, 300, 128, NONE),
        (0, 256, 256, 256),
    ],
)
def test_the_snapshot_of_a_prefill_chunk(start, end, branch, position):
    assert prefill_snapshot(start, end, branch, 64, 64, 64) == position


def test_a_finished_request_gives_the_last_snapshot_it_owns():
    assert donated_position(512, 256, 600, 2) == 512
    assert donated_position(512, 256, 511, 2) == 256
    assert donated_position(512, 256, 511, 1) == NONE
    assert donated_position(NONE, NONE, 511, 2) == NONE


def test_a_first_chunk_ends_on_a_page_and_a_later_one_does_not():
    assert first_chunk(0, 100, 128, 64) == 100
    assert first_chunk(0, 200, 100, 64) == 64
    assert first_chunk(0, 200, 63, 64) <= 0
    assert next_chunk(200, 100, 1000.0) == 100
    assert next_chunk(200, 100, 50.9) == 50
    assert next_chunk(200, 100, -3.0) == 100


def test_outputs_are_clipped_to_what_the_empty_pool_holds():
    assert new_tokens_asked(1000, 100, 255, 256, 64) == 256 - 128 - 64 - 1
    assert new_tokens_asked(10, 100, 255, 256, 64) == 10
    assert new_tokens_asked(10, 192, 255, 256, 64) == 0


def test_a_request_owns_what_its_client_saw():
    assert owned_tokens(107, 100, 8, 8) == 107
    assert owned_tokens(108, 100, 8, 16) == 108
    assert owned_tokens(100, 100, 1, 0) == 100
