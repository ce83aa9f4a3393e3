"""An unknown layer kind is an error in every family, wherever it stands: it is never counted as attention."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes import catalog
from poolsplit.shapes.families import read_model_shape

LISTS = {
    "Qwen/Qwen3.5-27B": ("text_config", "layer_types"),
    "Qwen/Qwen3.5-397B-A17B": ("text_config", "layer_types"),
    "Qwen/Qwen3-Coder-Next": ("layer_types",),
    "jet-ai/Jet-Nemotron-4B": ("layer_types",),
    "zai-org/GLM-5.3-Flash": ("text_config", "layer_types"),
    "openbmb/MiniCPM-SALA": ("mixer_types",),
    "MiniMaxAI/MiniMax-M1": ("attn_type_list",),
    "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": ("layers_block_type",),
    "ibm-granite/granite-4.0-h-small": ("layer_types",),
    "Zyphra/Zamba2-7B": ("layers_block_type",),
    "allenai/Olmo-Hybrid-7B": ("layer_types",),
    "LiquidAI/LFM2-8B-A1B": ("layer_types",),
}
KNOWN = {
    "attn", "attention", "conv", "full_attention", "hybrid", "indexed_attention", "jet", "lightning", "lightning-attn",
    "lightning_attn", "linear_attention", "mamba", "minicpm", "minicpm4", "mlp", "moe", "short_conv", "standard", "swa",
}  # fmt: skip
strange = st.one_of(
    st.sampled_from(["sliding_attention", "mamba3", "gdn2", "", "FULL_ATTENTION", "full_attention "]),
    st.text(max_size=12).filter(lambda kind: kind not in KNOWN),
    st.integers(min_value=2),
    st.integers(max_value=-1),
    st.none(),
    st.booleans(),
    st.floats(),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=1),
)


def replaced(name, path, position, kind):
    config = copy.deepcopy(dict(catalog.load(name).config))
    level = config
    for key in path[:-1]:
        level = level[key]
    kinds = list(level[path[-1]])
    kinds[position % len(kinds)] = kind
    level[path[-1]] = kinds
    return config


@pytest.mark.parametrize(("name", "path"), LISTS.items())
def test_an_unknown_kind_anywhere_is_refused_by_key_and_file(name, path):
    @given(position=st.integers(min_value=0, max_value=500), kind=strange)
    def check(position, kind):
        with pytest.raises(UnsupportedModelError) as caught:
            read_model_shape(replaced(name, path, position, kind), name="the/file.json")
        assert path[-1] in caught.value.message
        assert caught.value.where == "the/file.json"

    check()


@given(position=st.integers(min_value=0, max_value=51), letter=st.characters().filter(lambda c: c not in "M*-E"))
def test_an_unknown_letter_in_a_pattern_is_refused(position, letter):
    config = dict(catalog.load("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").config)
    letters = list(config["hybrid_override_pattern"])
    letters[position] = letter
    with pytest.raises(UnsupportedModelError, match="hybrid_override_pattern"):
        read_model_shape({**config, "hybrid_override_pattern": "".join(letters)}, name="x")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


@given(data=st.data(), name=st.sampled_from(catalog.ids()), value=json_values)
def test_any_value_under_any_key_reads_as_a_shape_or_is_refused(data, name, value):
    config = copy.deepcopy(dict(catalog.load(name).config))
    levels = [level for level in (config, *config.values()) if isinstance(level, dict) and level]
    level = data.draw(st.sampled_from(levels))
    level[data.draw(st.sampled_from(sorted(level)))] = value
    try:
        shape = read_model_shape(config, name="x")
    except UnsupportedModelError:
        return
    for ids in (shape.state_layer_ids, shape.kv_layer_ids):
        assert list(ids) == sorted(set(ids))
        assert all(0 <= number < shape.layers for number in ids)
