"""Bytes of a KV row with what a draft adds, release by release."""

from dataclasses import replace

import pytest

from pool_launches import LATEST, gdn_shape, resolved
from poolsplit.engines.sglang.solver.cells import draft_row_bytes, stage_cell_bytes
from poolsplit.engines.sglang.solver.formats import element_bytes, kv_format
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.model_shape import DraftShape, FullAttention, LatentAttention, SparseIndex

SHAPE = gdn_shape(layers=12)
IDS = SHAPE.kv_layer_ids
CELL = 3 * 2 * 512 * 2
"""Three layers of two heads, keys and values of 256, in bf16."""
BLOCK = DraftShape(
    name="block",
    architecture="DFlashDraftModel",
    model_type="qwen3",
    layers=5,
    attention=FullAttention(kv_heads=8, head_dim=128, v_head_dim=128),
    kv_layers=5,
    dtype="bfloat16",
    context_len=None,
)


def cell(release="0.5.23", shape=SHAPE, draft=None, ids=IDS, **changes):
    return stage_cell_bytes(shape, resolved(shape, **changes), switches_for(release), draft, ids)


def test_a_row_without_a_draft():
    assert cell() == CELL
    assert cell(ids=()) == 0
    assert cell(ids=(), eagle_draft_layers=1) == 0
    assert cell(kv_dtype="fp8_e4m3") == CELL // 2
    assert cell(attn_tp_size=8) == CELL // 2


@pytest.mark.parametrize("release", ["0.5.16", "0.5.21", "0.5.22"])
def test_a_draft_like_the_target_adds_its_share(release):
    assert cell(release, eagle_draft_layers=1) == CELL + CELL // 3
    assert cell(release, eagle_draft_layers=0) == CELL


def test_the_two_forms_of_the_share_may_differ_in_the_last_byte():
    def both(layers):
        shape = replace(SHAPE, kv_layer_ids=tuple(range(layers)))
        flags = {"shape": shape, "ids": shape.kv_layer_ids, "eagle_draft_layers": 1, "kv_dtype": "fp8_e4m3"}
        return cell("0.5.21", **flags), cell("0.5.22", **flags)

    assert all(0 <= new - old <= 1 for old, new in map(both, range(1, 120)))


@pytest.mark.parametrize(
    ("release", "dcp", "row"),
    [
        ("0.5.16", 1, -(-CELL * 8 // 3)),
        ("0.5.16", 2, -(-CELL * 8 // 3)),
        ("0.5.17", 2, -(-CELL * 13 // 3)),
        ("0.5.18", 1, CELL + 5 * 8 * 256 * 2),
        ("0.5.23", 2, CELL + 5 * 4 * 256 * 2 * 2),
    ],
)
def test_a_block_draft_is_scaled_first_and_read_later(release, dcp, row):
    width = dcp if release == "0.5.23" else 1
    flags = {"dflash_draft_layers": 5, "dcp_size": dcp, "attn_tp_size": width, "draft_kv_dtype": "bfloat16"}
    assert cell(release, draft=BLOCK, **flags) == row


def test_a_block_draft_keeps_its_own_dtype_and_heads():
    flags = resolved(dflash_draft_layers=5, draft_kv_dtype="bfloat16", kv_dtype="fp8_e4m3", attn_tp_size=4)
    assert draft_row_bytes(flags, LATEST, BLOCK) == 5 * 2 * 256 * 2
    assert draft_row_bytes(flags, switches_for("0.5.17"), BLOCK) is None
    assert draft_row_bytes(resolved(), LATEST, BLOCK) is None


def test_a_block_draft_without_heads_cannot_be_priced():
    latent = replace(BLOCK, attention=LatentAttention(kv_lora_rank=512, qk_rope_head_dim=64))
    with pytest.raises(UnsupportedModelError, match="heads"):
        draft_row_bytes(resolved(dflash_draft_layers=5), LATEST, latent)


@pytest.mark.parametrize(("release", "copies"), [("0.5.21", 1), ("0.5.22", 2)])
def test_sparse_rows_add_the_drafts_rows_and_keys(release, copies):
    index = SparseIndex(head_dim=128, tokens_per_key=1, shared_layer_ids=(7,))
    shape = gdn_shape(layers=12, attention=LatentAttention(kv_lora_rank=512, qk_rope_head_dim=64, index=index))
    row = 3 * 576 * 2
    keys = 2 * 132 * copies
    plain = cell(release, shape=shape, ids=shape.kv_layer_ids, dcp_size=2, attn_tp_size=2)
    assert plain == row + keys
    drafted = cell(release, shape=shape, ids=shape.kv_layer_ids, dcp_size=2, attn_tp_size=2, eagle_draft_layers=1)
    assert drafted == plain + 576 * 2 * copies + 132 * copies


@pytest.mark.parametrize(
    ("prefill", "decode", "native", "layouts", "workspace"),
    [
        ("trtllm_mha", "trtllm_mha", True, 1, 0),
        ("flashinfer", "trtllm_mha", True, 2, 1),
        ("flashinfer", "trtllm_mha", False, 1, 1),
        ("trtllm_mha", "trtllm_mha", False, 1, 0),
    ],
)
def test_fp4_scales_follow_the_kernels(prefill, decode, native, layouts, workspace):
    flags = resolved(
        kv_dtype="nvfp4",
        attention_backend="triton",
        prefill_attention_backend=prefill,
        decode_attention_backend=decode,
        native_fp4_layout=native,
    )
    kv = kv_format(flags, LATEST)
    assert (kv.packing, kv.scale_layouts, kv.workspace_element_bytes) == ("nvfp4", layouts, workspace)


def test_other_packings():
    assert kv_format(resolved(kv_dtype="nvfp4"), switches_for("0.5.20")).packing == "fp4_legacy"
    assert kv_format(resolved(kv_dtype="fp4_mx_block16"), LATEST).scale_layouts == 1
    assert kv_format(resolved(kv_dtype="mxfp8"), LATEST).packing == "mxfp8"
    assert kv_format(resolved(kv_dtype="fp8_e4m3", scaled_latent_rows=True), LATEST).scaled_latent_rows
    assert not kv_format(resolved(kv_dtype="bfloat16", scaled_latent_rows=True), LATEST).scaled_latent_rows


def test_an_unknown_dtype_is_named():
    with pytest.raises(UnsupportedModelError, match="int3"):
        element_bytes("int3")
