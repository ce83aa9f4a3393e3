"""A draft in the target's own entries under unified memory; the figures are the engine's, run without a card."""

from dataclasses import replace

import pytest

from pool_launches import LATEST, gdn_shape, memory, resolved
from poolsplit.engines.sglang.solver import solve
from poolsplit.engines.sglang.solver.fused import fused_entry_bytes
from poolsplit.engines.sglang.versions import switches_for
from poolsplit.hub import find_model
from poolsplit.shapes.model_shape import DraftShape, FullAttention, LatentAttention

NEXT = find_model("Qwen/Qwen3-Next-80B-A3B-Instruct").shape
DENSE = DraftShape(
    name="dense",
    architecture="Qwen3ForCausalLM",
    model_type="qwen3",
    layers=36,
    attention=FullAttention(kv_heads=8, head_dim=128, v_head_dim=128),
    kv_layers=36,
    dtype="bfloat16",
    context_len=40960,
)
UNIFIED = {"enable_unified_memory": True, "attention_backend": "fa3", "attn_tp_size": 2, "tp_size": 2}
EAGLE = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4, "max_running_requests": 48}


def entry(draft=None, release="0.5.23", shape=NEXT, host=12 * 1024, **changes):
    flags = resolved(shape, **{**UNIFIED, **EAGLE, **changes})
    return fused_entry_bytes(shape, flags, switches_for(release), draft, host)


def test_a_head_without_a_name_is_one_layer_in_families_that_rewrite_it():
    assert entry() == 13_312
    assert entry(shape=gdn_shape(), host=4096) == 4096 + 1024
    assert entry(shape=replace(gdn_shape(), architecture="FalconH1ForCausalLM")) is None


def test_a_named_draft_keeps_its_own_heads():
    assert entry(DENSE, eagle_draft_layers=36) == 86_016
    assert entry(DENSE, eagle_draft_layers=36, kv_dtype="fp8_e4m3", host=6144) == 6144 + 36 * 1024


@pytest.mark.parametrize(
    ("algorithm", "backend", "kv_dtype", "row"),
    [
        ("DFLASH", "fa3", "bfloat16", 5 * 2048),
        ("DFLASH", "fa3", "fp8_e4m3", 5 * 1024),
        ("DSPARK", "fa4", "fp8_e4m3", 5 * 2048),
    ],
)
def test_block_drafts_follow_the_target_except_on_one_kernel(algorithm, backend, kv_dtype, row):
    changes = {"speculative_algorithm": algorithm, "dflash_draft_layers": 5, "kv_dtype": kv_dtype}
    assert entry(DENSE, attention_backend=backend, **changes) == 12 * 1024 + row


@pytest.mark.parametrize(
    "changes",
    [
        {"release": "0.5.21"},
        {"enable_unified_memory": False},
        {"speculative_algorithm": "NGRAM"},
        {"dcp_size": 2},
        {"attention_backend": "trtllm_mha", "release": "0.5.22"},
        {"draft_attention_backend": "torch_native"},
        {"host": 0},
    ],
)
def test_where_no_draft_rides_along(changes):
    assert entry(**changes) is None


def test_latent_drafts_and_unaligned_rows_stay_out():
    latent = replace(DENSE, attention=LatentAttention(kv_lora_rank=512, qk_rope_head_dim=64))
    assert entry(latent, eagle_draft_layers=1) is None
    narrow = replace(DENSE, attention=FullAttention(kv_heads=1, head_dim=4, v_head_dim=4))
    assert entry(narrow, eagle_draft_layers=1) is None
    unequal = replace(DENSE, attention=FullAttention(kv_heads=8, head_dim=128, v_head_dim=64))
    assert entry(unequal, eagle_draft_layers=1) == 12 * 1024 + 4 * 192 * 2
    assert entry(unequal, eagle_draft_layers=1, attention_backend="flashinfer") is None


def test_entries_are_rounded_up():
    odd = replace(DENSE, attention=FullAttention(kv_heads=2, head_dim=8, v_head_dim=8))
    assert entry(odd, eagle_draft_layers=1, host=1000) == 1056


def test_a_windowed_models_own_draft_stays_out_and_a_block_draft_rides_along():
    shape = find_model("thinkingmachines/Inkling").shape
    flags = resolved(shape, **{**UNIFIED, "attention_backend": "fa4", "max_running_requests": 48})
    block = replace(flags, speculative_algorithm="DSPARK", speculative_num_draft_tokens=5, dflash_draft_layers=1)
    own = replace(flags, **EAGLE, eagle_draft_layers=8)

    def cell(launch, draft=None):
        return solve(shape, launch, memory(139.0, 110.0), LATEST, draft).stages[0].kv_bytes_per_token

    heads = 4 * 256 * 2
    assert cell(block, DENSE) == cell(flags) + heads
    assert cell(own) == cell(flags) + 8 * 2 * shape.attention.kv_heads // 2 * 128 * 2
    assert entry(shape=shape, attention_backend="fa4", eagle_draft_layers=8) is None
