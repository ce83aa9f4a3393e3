"""Readers of the families: nesting, layer lists, class defaults, dtypes, drafts and vision towers."""

import json

import pytest

from hybrid_configs import QWEN_NEXT, changed
from poolsplit.errors import UnsupportedModelError
from poolsplit.hub import find_model
from poolsplit.shapes import catalog
from poolsplit.shapes.families import known_model_types, read_model_shape
from poolsplit.shapes.families.draft import read_draft_shape
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
    VisionTower,
)

KINDS = {
    "Qwen/Qwen3.5-27B": GatedDeltaNet,
    "jet-ai/Jet-Nemotron-2B": GatedDeltaNet,
    "allenai/Olmo-Hybrid-7B": GatedDeltaNet,
    "moonshotai/Kimi-K3": KimiDelta,
    "zai-org/GLM-5.3-Flash": KimiDelta,
    "inclusionAI/Ling-3.0-flash": KimiDelta,
    "inclusionAI/Ring-2.5-1T": Lightning,
    "inclusionAI/Ring-mini-linear-2.0": Lightning,
    "openbmb/MiniCPM-SALA": Lightning,
    "MiniMaxAI/MiniMax-M1": Lightning,
    "nvidia/Nemotron-H-8B-Base-8K": Mamba2,
    "ibm-granite/granite-4.0-h-small": Mamba2,
    "tiiuae/Falcon-H1-34B-Instruct": Mamba2,
    "mistralai/Mamba-Codestral-7B-v0.1": Mamba2,
    "Zyphra/Zamba2-7B": Mamba2,
    "pfnet/plamo-2-1b": Mamba2,
    "tiiuae/falcon-mamba-7b": Mamba1,
    "ai21labs/Jamba-v0.1": Mamba1,
    "LiquidAI/LFM2-8B-A1B": ShortConv,
    "Zyphra/ZAYA1-8B": CompressedConv,
    "thinkingmachines/Inkling": SideConv,
}


def read(config):
    return read_model_shape(config, name="made.json")


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_each_family_reads_its_own_kind_of_state(name, kind):
    assert isinstance(find_model(name).shape.state, kind)


def test_kimi_layers_count_from_one_and_glm_layers_from_zero():
    kimi = catalog.load("moonshotai/Kimi-Linear-48B-A3B-Instruct").config
    assert kimi["linear_attn_config"]["kda_layers"][0] == 1
    assert read(kimi).state_layer_ids[:4] == (0, 1, 2, 4)
    linear = {"head_dim": 128, "num_heads": 64, "short_conv_kernel_size": 4, "kda_layers": [0, 1, 2, 4]}
    glm = catalog.load("zai-org/GLM-5.3-Flash").config
    text = {**glm["text_config"], "num_hidden_layers": 6, "layer_types": None, "linear_attn_config": linear}
    assert read({**glm, "text_config": text}).state_layer_ids == (0, 1, 2, 4)


def test_the_interval_decides_for_qwen_and_the_list_where_there_is_no_interval():
    listed = ["full_attention"] + ["linear_attention"] * 7
    assert read(changed(QWEN_NEXT, layer_types=listed)).kv_layer_ids == (3, 7)
    assert read(changed(QWEN_NEXT, layer_types=listed, full_attention_interval=None)).kv_layer_ids == (0,)


def test_pattern_letters_give_the_depth_of_nemotron():
    config = catalog.load("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").config
    shape = read({**config, "hybrid_override_pattern": "M*-E", "num_hidden_layers": 99})
    assert (shape.layers, shape.state_layer_ids, shape.kv_layer_ids) == (4, (0,), (1,))


def test_old_nemotron_files_name_the_head_width_otherwise():
    config = dict(catalog.load("nvidia/Nemotron-H-8B-Base-8K").config)
    assert "attention_head_dim" in config
    assert read(config).attention == FullAttention(kv_heads=8, head_dim=128, v_head_dim=128)


def test_a_bailing_group_may_be_a_list_where_one_means_linear():
    config = catalog.load("inclusionAI/Ling-3.0-flash").config
    shape = read({**config, "num_hidden_layers": 4, "layer_group_size": [1, 0, 1, 1]})
    assert (shape.state_layer_ids, shape.kv_layer_ids) == ((0, 2, 3), (1,))


def test_mixers_repeat_to_the_depth_of_the_model():
    config = catalog.load("openbmb/MiniCPM-SALA").config
    shape = read({**config, "num_hidden_layers": 7, "mixer_types": ["lightning-attn", "minicpm4"]})
    assert shape.kv_layer_ids == (1, 3, 5)


def test_zaya_takes_the_defaults_of_its_config_class():
    shape = read({"architectures": ["ZayaForCausalLM"], "model_type": "zaya", "torch_dtype": "bfloat16"})
    assert (shape.layers, shape.kv_layer_ids[:3], shape.context_len) == (80, (0, 2, 4), 32_768)
    assert shape.state == CompressedConv(channels=1280, window=2, hidden_size=2048)


def test_zaya_lists_attention_by_letter():
    shape = read({"model_type": "zaya", "zaya_layers": ["a", 16, "a", 16, "a"]})
    assert (shape.layers, shape.state_layer_ids) == (5, (0, 2, 4))


def test_infinity_in_a_file_is_read(tmp_path):
    config = dict(catalog.load("mistralai/Mamba-Codestral-7B-v0.1").config)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**config, "time_step_limit": [0.0, float("inf")]}), encoding="utf-8")
    assert "Infinity" in path.read_text(encoding="utf-8")
    assert find_model(str(tmp_path)).shape.layers == 64


def test_granite_without_a_mamba_layer_has_no_state():
    config = catalog.load("ibm-granite/granite-4.0-h-1b").config
    shape = read({**config, "layer_types": ["attention"] * config["num_hidden_layers"]})
    assert (shape.state, shape.state_layer_ids) == (None, ())


def test_a_dense_model_is_a_shape_without_state_layers():
    shape = read(
        {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "torch_dtype": "bfloat16",
        }
    )
    assert (shape.state, len(shape.kv_layer_ids), shape.context_len) == (None, 36, None)


def test_only_one_key_of_the_state_dtype_is_read():
    super_120b = catalog.load("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8").config
    shape = read({**super_120b, "mamba_ssm_cache_dtype": "bfloat16"})
    assert (shape.state_dtype, shape.state_dtype_unread) == (None, "bfloat16")
    assert read({**super_120b, "mamba_ssm_dtype": "float16"}).state_dtype == "float16"
    granite = catalog.load("ibm-granite/granite-4.0-h-small").config
    shape = read({**granite, "mamba_ssm_dtype": "bfloat16"})
    assert (shape.state_dtype, shape.state_dtype_unread) == (None, "bfloat16")


def test_the_text_level_wins_over_the_outer_one():
    config = catalog.load("Qwen/Qwen3.5-27B").config
    assert read({**config, "mamba_ssm_dtype": "bfloat16"}).state_dtype == "float32"
    assert read({**config, "dtype": "float16"}).dtype == "bfloat16"


@pytest.mark.parametrize(
    ("name", "nextn", "drafts"),
    [
        ("Qwen/Qwen3.5-27B", None, 1),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 1, 1),
        ("nvidia/Nemotron-H-8B-Base-8K", 0, 0),
        ("zai-org/GLM-5.3-Flash", 1, 1),
        ("moonshotai/Kimi-K3", 0, 0),
        ("thinkingmachines/Inkling", 8, 0),
        ("ibm-granite/granite-4.0-h-small", None, 0),
    ],
)
def test_the_two_keys_of_draft_layers_are_told_apart(name, nextn, drafts):
    shape = find_model(name).shape
    assert (shape.num_nextn_predict_layers, shape.draft_layers) == (nextn, drafts)


@pytest.mark.parametrize(
    ("quantisation", "dtype"),
    [
        ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8_e4m3"),
        ({"kv_cache_scheme": {"num_bits": 4, "type": "float"}}, "nvfp4"),
        ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, None),
        ({"kv_cache_scheme": None, "kv_cache_quant_algo": "FP8"}, "fp8_e4m3"),
        ({"quantization": {"kv_cache_quant_algo": "fp8"}}, "fp8_e4m3"),
        ({"quant_method": "fp8"}, None),
    ],
)
def test_quantised_kv_is_what_the_checkpoint_declares(quantisation, dtype):
    assert read(changed(QWEN_NEXT, quantization_config=quantisation)).kv_quant_dtype == dtype


@pytest.mark.parametrize(
    ("keys", "context_len"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"max_position_embeddings": 4096, "model_max_length": 8192}, 8192),
        ({"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "linear", "factor": 2.5}}, 10_240),
        ({"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "llama3", "factor": 8}}, 4096),
        (
            {
                "max_position_embeddings": 4096,
                "rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024},
            },
            4096,
        ),
    ],
)
def test_context_length(keys, context_len):
    assert read(changed(QWEN_NEXT, **keys)).context_len == context_len


def test_vision_towers():
    assert find_model("Qwen/Qwen3.5-27B").shape.vision == VisionTower(layers=None, hidden_size=1152)
    assert find_model("moonshotai/Kimi-K3").shape.vision == VisionTower(layers=27, hidden_size=1024)
    glm = find_model("zai-org/GLM-5.3-Flash").shape
    assert (glm.vision, glm.multimodal) == (None, True)
    assert find_model("Qwen/Qwen3.8-2.4T-A95B").shape.multimodal is False


def test_sparse_attention_keeps_pooled_index_keys_and_may_share_them():
    glm = catalog.load("zai-org/GLM-5.3-Flash").config
    assert read(glm).attention == LatentAttention(
        kv_lora_rank=512, qk_rope_head_dim=0, index=SparseIndex(head_dim=128, tokens_per_key=4)
    )
    text = {**glm["text_config"], "index_topk_freq": 4, "num_hidden_layers": 9, "layer_types": None}
    assert read({**glm, "text_config": text}).attention.index.shared_layer_ids == (2, 3, 4, 6, 7, 8)
    text = {**text, "index_topk_pattern": "FSSFSSFSS"}
    assert read({**glm, "text_config": text}).attention.index.shared_layer_ids == (1, 2, 4, 5, 7, 8)


def test_a_compressed_index_beside_grouped_attention():
    text = {
        **changed(QWEN_NEXT, model_type="qwen4_exp_text"),
        "indexer_n_heads": 32,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 128,
        "indexer_compress_ratio": 4,
        "layer_types": ["linear_attention", "qwen_sparse_attention"] * 4,
    }
    shape = read({"model_type": "qwen4_exp", "text_config": text})
    assert shape.kv_layer_ids == (1, 3, 5, 7)
    assert shape.attention.index == SparseIndex(head_dim=128, tokens_per_key=4)


def test_a_block_draft_is_read_by_its_own_config():
    draft = read_draft_shape(
        {
            "architectures": ["Qwen3DSparkModel"],
            "model_type": "qwen3",
            "num_hidden_layers": 5,
            "num_attention_heads": 32,
            "num_key_value_heads": 2,
            "head_dim": 128,
            "block_size": 7,
            "torch_dtype": "bfloat16",
        },
        name="draft.json",
    )
    assert (draft.layers, draft.kv_layers, draft.block_size, draft.gamma) == (5, 5, 7, 7)
    assert draft.attention == FullAttention(kv_heads=2, head_dim=128, v_head_dim=128)


def test_nested_and_prefixed_block_sizes_go_first():
    base = {"architectures": ["DFlashDraftModel"], "model_type": "new", "num_hidden_layers": 1, "block_size": 4}
    heads = {"num_attention_heads": 2, "hidden_size": 256}
    draft = read_draft_shape({**base, **heads, "dflash_config": {"block_size": 16}, "dspark_block_size": 6}, name="d")
    assert (draft.block_size, draft.gamma) == (16, 6)


def test_a_target_named_as_its_own_draft_keeps_its_whole_depth():
    draft = read_draft_shape(catalog.load("Qwen/Qwen3.5-27B").config, name="Qwen/Qwen3.5-27B")
    assert (draft.layers, draft.kv_layers, draft.num_nextn_predict_layers) == (64, 16, None)


@pytest.mark.parametrize("model_type", known_model_types())
def test_every_known_model_type_has_a_reader_that_reads_its_keys(model_type):
    text = {"num_hidden_layers": "x", "linear_attn_config": {}, "hybrid_override_pattern": "x"}
    with pytest.raises(UnsupportedModelError, match="made"):
        read_model_shape({"model_type": model_type, "text_config": text}, name="made")
