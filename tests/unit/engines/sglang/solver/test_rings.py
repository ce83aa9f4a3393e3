"""Rings of the replayed verification: which families have one, how long and how large it is, per slot or once."""

import pytest

from pool_launches import LATEST, gdn_shape, resolved
from poolsplit.engines.sglang.solver.rings import replay_rings
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_model
from poolsplit.shapes.costs import StateFormat

RANK = StateFormat(width=2, conv_element_bytes=2, state_element_bytes=4)
ROWS = 4 * 128 + 2 * 128
"""Value and key elements of `gdn_shape` on one of two ranks."""
REPLAY = {"enable_linear_replayssm_spec": True, "linear_replayssm_cache_len": 16, "speculative_num_draft_tokens": 4}


def gdn(release, **changes):
    flags = resolved(**{**REPLAY, **changes})
    return replay_rings(gdn_shape(layers=4), flags, switches_for(release), RANK, 1.0)


def test_a_new_gdn_ring_is_held_once_a_request_and_keeps_two_halves():
    rings = gdn("0.5.20")
    assert (rings.active, rings.per_slot) == (True, False)
    assert rings.ring_bytes == 3 * (2 * ROWS * 16 * 2 + 4 * 4 * 16)


def test_full_precision_windows_need_no_second_half():
    state = StateFormat(width=2, conv_element_bytes=4, state_element_bytes=4)
    rings = replay_rings(gdn_shape(layers=4), resolved(**REPLAY), LATEST, state, 1.0)
    assert rings.ring_bytes == 3 * (ROWS * 16 * 4 + 4 * 4 * 16)


@pytest.mark.parametrize(("drafts", "length"), [(4, 4), (None, 16)])
def test_an_old_gdn_ring_is_as_long_as_the_draft_and_sits_on_every_slot(drafts, length):
    rings = gdn("0.5.17", speculative_num_draft_tokens=drafts)
    assert rings.per_slot
    assert rings.ring_bytes == 3 * (ROWS * length * 2 + 8 * 4 * length)


def test_the_first_release_does_not_price_rings():
    assert not gdn("0.5.16").active
    assert not gdn("0.5.23", enable_linear_replayssm_spec=False).active


def test_the_share_of_the_widest_stage_rounds_down():
    rings = replay_rings(gdn_shape(layers=4), resolved(**REPLAY), LATEST, RANK, 2 / 3)
    assert rings.ring_bytes == int(3 * (2 * ROWS * 16 * 2 + 4 * 4 * 16) * (2 / 3))


@pytest.mark.parametrize(
    ("model", "release", "active"),
    [
        ("moonshotai/Kimi-K3", "0.5.17", True),
        ("inclusionAI/Ling-3.0-flash", "0.5.18", False),
        ("inclusionAI/Ling-3.0-flash", "0.5.19", True),
        ("zai-org/GLM-5.3-Flash", "0.5.20", False),
        ("zai-org/GLM-5.3-Flash", "0.5.21", True),
        ("nvidia/Nemotron-H-56B-Base-8K", "0.5.23", False),
    ],
)
def test_families_with_a_ring_by_release(model, release, active):
    shape = find_model(model).shape
    rings = replay_rings(shape, resolved(**REPLAY), switches_for(release), RANK, 1.0)
    assert rings.active is active
    assert rings.per_slot is active


def test_a_kda_ring_of_kimi_k3():
    shape = find_model("moonshotai/Kimi-K3").shape
    eight = StateFormat(width=8, conv_element_bytes=2, state_element_bytes=4)
    rings = replay_rings(shape, resolved(**REPLAY), LATEST, eight, 1.0)
    heads, dim, length = 12, 128, 16
    layer = 2 * (2 * heads * dim) * length * 2 + 4 * heads * length + 4 * heads * length * dim
    assert rings.ring_bytes == 69 * layer
