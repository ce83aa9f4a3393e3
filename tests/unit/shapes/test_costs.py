"""Bytes of a slot and of a row: exact, with groups and heads that are copied where they do not divide."""

import pytest

from pool_launches import gdn_shape
from poolsplit.errors import IndivisibleError
from poolsplit.hub import find_model
from poolsplit.shapes.costs import (
    KvFormat,
    StateFormat,
    conv_shapes,
    index_bytes_per_token,
    key_heads_per_rank,
    kv_bytes_per_token,
    kv_heads_per_rank,
    state_bytes_per_slot,
    state_layer_bytes,
    temporal_shape,
)
from poolsplit.shapes.model_shape import (
    CompressedConv,
    FullAttention,
    GatedDeltaNet,
    KimiDelta,
    LatentAttention,
    Lightning,
    Mamba1,
    Mamba2,
    ShortConv,
    SideConv,
    SparseIndex,
)

FP32_STATE = {"conv_element_bytes": 2, "state_element_bytes": 4}
GDN = GatedDeltaNet(key_heads=4, value_heads=8, key_head_dim=128, value_head_dim=64, conv_kernel=4)
MAMBA2 = Mamba2(heads=128, head_dim=64, state_size=128, groups=1, inner_width=8192, conv_kernel=4)


def ranks(width):
    return StateFormat(width=width, **FP32_STATE)


@pytest.mark.parametrize(
    ("layer", "width", "windows", "recurrent"),
    [
        (GDN, 1, ((8 * 64 + 2 * 4 * 128, 3),), (8, 64, 128)),
        (GDN, 4, ((384, 3),), (2, 64, 128)),
        (GDN, 8, (((8 * 64 + 2 * 8 * 128) // 8, 3),), (1, 64, 128)),
        (KimiDelta(heads=32, head_dim=128, conv_kernel=4), 2, ((3, 3 * 2048),), (16, 128, 128)),
        (MAMBA2, 8, ((1280, 3),), (16, 64, 128)),
        (Mamba1(inner_width=8192, state_size=16, conv_kernel=4), 2, ((4096, 3),), (4096, 1, 16)),
        (Lightning(heads=32, head_dim=128), 4, ((0, 0),), (8, 128, 128)),
        (ShortConv(channels=2048, conv_kernel=3), 4, ((512, 2),), (1, 2048, 0)),
        (CompressedConv(channels=1280, window=2, hidden_size=2048), 2, ((640, 2), (2048, 1)), (1, 1, 0)),
    ],
)
def test_state_shapes_on_one_rank(layer, width, windows, recurrent):
    assert conv_shapes(layer, ranks(width)) == windows
    assert temporal_shape(layer, width) == recurrent


def test_side_convolutions_keep_both_kinds_and_split_the_hidden_ones_only_when_scattered():
    layer = SideConv(conv_kernel=4, kv_heads=8, head_dim=128, window_kv_heads=4, window_head_dim=128, hidden_size=4096)
    whole = conv_shapes(layer, StateFormat(width=8, **FP32_STATE))
    scattered = conv_shapes(layer, StateFormat(width=8, hidden_width=8, **FP32_STATE))
    assert whole == ((3, 128), (3, 128), (3, 128), (3, 128), (3, 4096), (3, 4096))
    assert scattered[-1] == (3, 512)
    assert temporal_shape(layer, 8) == (0, 0, 0)


@pytest.mark.parametrize("width", [3, 16])
def test_heads_that_do_not_divide_are_refused(width):
    with pytest.raises(IndivisibleError, match="do not divide"):
        state_layer_bytes(GDN, ranks(width))


def test_groups_are_replaced_by_the_width_and_not_rounded_up():
    six = Mamba2(heads=128, head_dim=64, state_size=128, groups=6, inner_width=8192, conv_kernel=4)
    assert conv_shapes(six, ranks(4)) == (((8192 + 2 * 4 * 128) // 4, 3),)


def test_ring_key_heads_are_rounded_up():
    assert key_heads_per_rank(GDN, 8) == 1
    assert key_heads_per_rank(KimiDelta(heads=10, head_dim=128, conv_kernel=4), 4) == 3


@pytest.mark.parametrize(("heads", "width", "kept"), [(8, 4, 2), (2, 8, 1), (6, 4, 1)])
def test_kv_heads_never_fall_below_one(heads, width, kept):
    assert kv_heads_per_rank(heads, width) == kept


@pytest.mark.parametrize(
    ("model", "width", "kv", "slot", "row"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 4, KvFormat(element_bytes=1), 19_316_736, 6_144),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 2, KvFormat(element_bytes=2), 21_708_800, 8_064),
        ("zai-org/GLM-5.3-Flash", 2, KvFormat(element_bytes=1), 73_809_920, 5_995),
        ("zai-org/GLM-5.3-Flash", 2, KvFormat(element_bytes=1, scaled_latent_rows=True), 73_809_920, 6_171),
        ("moonshotai/Kimi-K3", 8, KvFormat(element_bytes=1), 56_171_520, 13_824),
        ("nvidia/Nemotron-H-56B-Base-8K", 1, KvFormat(element_bytes=2), 912_605_184, 40_960),
    ],
)
def test_published_bytes(model, width, kv, slot, row):
    shape = find_model(model).shape
    assert state_bytes_per_slot(shape, ranks(width)) == slot
    assert kv_bytes_per_token(shape, kv, head_width=width, layers=len(shape.kv_layer_ids)) == row


def test_state_without_layers_costs_nothing_and_stages_cost_their_layers():
    shape = gdn_shape(layers=8)
    assert state_bytes_per_slot(shape, ranks(1), layers=2) * 3 == state_bytes_per_slot(shape, ranks(1))
    assert kv_bytes_per_token(shape, KvFormat(element_bytes=2), head_width=1, layers=0) == 0


HEADS = 2 * 2 * 256
"""Elements of one row of `gdn_shape` in one layer: two heads, keys and values."""


@pytest.mark.parametrize(
    ("kv", "row"),
    [
        (KvFormat(element_bytes=2), 2 * HEADS),
        (KvFormat(element_bytes=1), HEADS),
        (KvFormat(element_bytes=1, packing="mxfp8"), HEADS + HEADS // 32),
        (KvFormat(element_bytes=1, packing="nvfp4", scale_layouts=1), HEADS // 2 + HEADS // 16),
        (KvFormat(element_bytes=1, packing="nvfp4", scale_layouts=2), HEADS // 2 + 2 * HEADS // 16),
        (
            KvFormat(element_bytes=1, packing="nvfp4", scale_layouts=2, workspace_element_bytes=1),
            HEADS // 2 + 2 * HEADS // 16 + HEADS,
        ),
        (KvFormat(element_bytes=1, packing="fp4_mx_block16", scale_layouts=1), HEADS // 2 + HEADS // 16),
        (
            KvFormat(element_bytes=1, packing="fp4_legacy", workspace_element_bytes=1),
            HEADS // 2 + HEADS // 16 + HEADS,
        ),
    ],
)
def test_row_formats(kv, row):
    assert kv_bytes_per_token(gdn_shape(layers=4), kv, head_width=1, layers=1) == row


def test_the_unpacking_workspace_is_shared_by_all_layers():
    kv = KvFormat(element_bytes=1, packing="nvfp4", scale_layouts=1, workspace_element_bytes=1)
    one = kv_bytes_per_token(gdn_shape(), kv, head_width=1, layers=1)
    two = kv_bytes_per_token(gdn_shape(), kv, head_width=1, layers=2)
    assert two - one == HEADS // 2 + HEADS // 16


def test_latent_rows_do_not_shrink_with_ranks_and_pack_by_sixteens():
    latent = LatentAttention(kv_lora_rank=512, qk_rope_head_dim=64)
    shape = gdn_shape(attention=latent)
    for width in (1, 8):
        assert kv_bytes_per_token(shape, KvFormat(element_bytes=2), head_width=width, layers=3) == 3 * 576 * 2
    packed = KvFormat(element_bytes=1, packing="nvfp4")
    assert kv_bytes_per_token(shape, packed, head_width=1, layers=3) == 3 * 576 // 2 + 3 * 36


def test_index_keys_are_kept_by_every_context_rank():
    latent = LatentAttention(kv_lora_rank=512, qk_rope_head_dim=64, index=SparseIndex(head_dim=128, tokens_per_key=4))
    assert index_bytes_per_token(latent, KvFormat(element_bytes=1), 2) == 2 * 33
    assert index_bytes_per_token(latent, KvFormat(element_bytes=1, index_copies=4), 2) == 8 * 33


def test_layers_that_share_an_index_keep_no_keys_of_their_own():
    shape = gdn_shape(
        attention=LatentAttention(
            kv_lora_rank=512,
            qk_rope_head_dim=64,
            index=SparseIndex(head_dim=128, tokens_per_key=1, shared_layer_ids=(7,)),
        )
    )
    kv = KvFormat(element_bytes=1)
    assert kv_bytes_per_token(shape, kv, head_width=1, layers=2, indexed_layers=1) == 2 * 576 + 132


def test_compressed_index_beside_full_attention():
    index = SparseIndex(head_dim=512, tokens_per_key=4)
    shape = gdn_shape(attention=FullAttention(kv_heads=2, head_dim=256, v_head_dim=256, index=index))
    plain = kv_bytes_per_token(gdn_shape(), KvFormat(element_bytes=2), head_width=1, layers=2)
    assert kv_bytes_per_token(shape, KvFormat(element_bytes=2), head_width=1, layers=2) == plain + 2 * 256
