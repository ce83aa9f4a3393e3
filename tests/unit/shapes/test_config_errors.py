"""What cannot be read is refused by the key and the file, and never counted as something else."""

import pytest

from hybrid_configs import QWEN_NEXT, changed
from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes import catalog
from poolsplit.shapes.families import read_model_shape
from poolsplit.shapes.families.draft import read_draft_shape


def refusal(config):
    with pytest.raises(UnsupportedModelError) as caught:
        read_model_shape(config, name="some/config.json")
    error = caught.value
    assert error.where == "some/config.json"
    assert error.hint
    assert error.exit_code == 2
    return error.message


@pytest.mark.parametrize("key", [key for key in QWEN_NEXT if key.startswith(("linear_", "num_h", "full_"))])
def test_a_missing_key_is_named(key):
    assert f"`{key}`" in refusal(changed(QWEN_NEXT, **{key: None}))


@pytest.mark.parametrize("value", [0, -1, 2.5, "32", True, [32], {}, 1 << 60])
def test_a_nonsense_number_is_named_with_its_value(value):
    message = refusal(changed(QWEN_NEXT, linear_num_value_heads=value))
    assert "`linear_num_value_heads`" in message
    assert "expected a whole number" in message


@pytest.mark.parametrize("model_type", ["rwkv7", "gpt_oss", "qwen3_nxt", ""])
def test_an_unknown_family_is_never_read_as_attention(model_type):
    message = refusal({**QWEN_NEXT, "model_type": model_type})
    assert "`model_type`" in message


def test_an_unknown_family_names_the_near_ones():
    with pytest.raises(UnsupportedModelError, match="qwen3_nxt") as caught:
        read_model_shape({**QWEN_NEXT, "model_type": "qwen3_nxt"}, name="x")
    assert "qwen3_next" in caught.value.hint


@pytest.mark.parametrize("key", ["torch_dtype", "mamba_ssm_dtype", "mamba_ssm_cache_dtype"])
def test_an_unknown_dtype_is_named(key):
    message = refusal({**QWEN_NEXT, key: "float7"})
    assert f"`{key}`" in message
    assert "float7" in message


def test_an_unknown_kv_algorithm_is_named():
    assert "kv_cache_quant_algo" in refusal({**QWEN_NEXT, "quantization_config": {"kv_cache_quant_algo": "INT3"}})


def test_a_nested_key_is_named_by_its_path():
    kimi = dict(catalog.load("moonshotai/Kimi-K3").config)
    linear = {**kimi["text_config"]["linear_attn_config"], "head_dim": None}
    kimi["text_config"] = {**kimi["text_config"], "linear_attn_config": linear}
    assert "`text_config.linear_attn_config.head_dim`" in refusal(kimi)


@pytest.mark.parametrize("layers", [[0, 1], [1, 1, 2], [1, 999], ["1"], [True]])
def test_layer_numbers_outside_the_model_are_refused(layers):
    kimi = dict(catalog.load("moonshotai/Kimi-Linear-48B-A3B-Instruct").config)
    kimi["linear_attn_config"] = {**kimi["linear_attn_config"], "kda_layers": layers, "full_attn_layers": None}
    assert "kda_layers" in refusal(kimi)


def test_the_two_kimi_lists_must_agree():
    kimi = dict(catalog.load("moonshotai/Kimi-Linear-48B-A3B-Instruct").config)
    kimi["linear_attn_config"] = {**kimi["linear_attn_config"], "full_attn_layers": [4, 8]}
    assert "full_attn_layers" in refusal(kimi)


def test_a_list_of_another_length_than_the_model_is_refused():
    granite = catalog.load("ibm-granite/granite-4.0-h-1b").config
    assert "`layer_types`" in refusal({**granite, "layer_types": ["mamba"] * 3})


def test_a_dense_model_with_a_window_is_not_counted_as_full_attention():
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "hidden_size": 64,
        "layer_types": ["full_attention", "sliding_attention"],
    }
    assert "layer_types[1]" in refusal(config)


def test_mamba_widths_must_fit_together():
    granite = catalog.load("ibm-granite/granite-4.0-h-1b").config
    assert "mamba_n_heads" in refusal({**granite, "mamba_n_heads": 47})


def test_absurd_depths_are_refused_before_anything_is_built():
    assert "num_hidden_layers" in refusal({**QWEN_NEXT, "num_hidden_layers": 10**9})


@pytest.mark.parametrize("value", [[], "text", 5])
def test_a_level_that_is_no_mapping_is_named(value):
    assert "`text_config`" in refusal({**QWEN_NEXT, "text_config": value})


def test_a_draft_without_its_heads_is_refused():
    with pytest.raises(UnsupportedModelError, match="num_attention_heads"):
        read_draft_shape({"architectures": ["DFlashDraftModel"], "num_hidden_layers": 2}, name="d")
