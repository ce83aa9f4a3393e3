"""Every published and derived figure of the embedded models: layer lists, shapes, state and KV bytes at each width."""

import json
from pathlib import Path

import pytest

from poolsplit.hub import find_model
from poolsplit.shapes import catalog
from poolsplit.shapes.costs import (
    KvFormat,
    StateFormat,
    conv_shapes,
    kv_bytes_per_token,
    state_bytes_per_slot,
    state_layer_bytes,
    temporal_shape,
)
from poolsplit.shapes.families import read_model_shape

LINES = (Path(__file__).parent / "shapes" / "figures.jsonl").read_text(encoding="utf-8").splitlines()
FIGURES = {row["id"]: row for row in map(json.loads, LINES)}
BF16 = 2
FP32 = 4


def state_format(width, state_bytes):
    return StateFormat(width=width, conv_element_bytes=BF16, state_element_bytes=state_bytes)


def kv_bytes(shape, width, element_bytes):
    kv = KvFormat(element_bytes=element_bytes)
    return kv_bytes_per_token(shape, kv, head_width=width, layers=len(shape.kv_layer_ids))


def test_the_catalog_and_the_figures_hold_the_same_models():
    assert set(catalog.ids()) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_layers_and_shapes(name):
    want, shape = FIGURES[name], find_model(name).shape
    assert shape.layers == want["layers"]
    assert list(shape.kv_layer_ids) == want["kv_layers"]
    assert list(shape.state_layer_ids) == want["state_layers"]
    assert shape.context_len == want["context_len"]
    assert shape.draft_layers == want["draft_layers"]
    got = conv_shapes(shape.state, state_format(1, FP32))
    stored = sorted(got) if len(got) > 1 else list(got)
    assert [list(window) for window in stored if 0 not in window] == sorted(want["conv_shapes"])
    recurrent = temporal_shape(shape.state, 1)
    assert (None if 0 in recurrent else list(recurrent)) == want["temporal_shape"]


@pytest.mark.parametrize("name", FIGURES)
def test_bytes_on_one_card(name):
    want, shape = FIGURES[name], find_model(name).shape
    assert state_bytes_per_slot(shape, state_format(1, FP32)) == want["state_fp32"]
    assert state_bytes_per_slot(shape, state_format(1, BF16)) == want["state_bf16"]
    assert kv_bytes(shape, 1, 2) == want["kv_bf16"]
    assert kv_bytes(shape, 1, 1) == want["kv_fp8"]


@pytest.mark.parametrize("name", FIGURES)
def test_bytes_of_each_rank(name):
    shape = find_model(name).shape
    count = len(shape.state_layer_ids)
    for width, (conv, fp32, bf16, kv) in FIGURES[name]["per_rank"].items():
        tp = int(width)
        windows, wide = state_layer_bytes(shape.state, state_format(tp, FP32))
        assert (windows * count, wide * count) == (conv, fp32)
        assert state_layer_bytes(shape.state, state_format(tp, BF16))[1] * count == bf16
        assert kv_bytes(shape, tp, 2) == kv


@pytest.mark.parametrize("name", [name for name, row in FIGURES.items() if row["window"]])
def test_windowed_layers_stand_apart(name):
    want, window = FIGURES[name]["window"], find_model(name).shape.window
    assert (len(window.layer_ids), window.window_tokens) == (want["layers"], want["window"])
    row = window.kv_heads * (window.head_dim + window.v_head_dim) * BF16
    assert row * len(window.layer_ids) == want["bytes_per_token_bf16"]


@pytest.mark.parametrize(
    ("name", "tp", "state_element_bytes", "kv_element_bytes", "slot", "token"),
    [
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", 4, FP32, 1, 19_316_736, 6_144),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 2, FP32, 2, 21_708_800, 8_064),
        ("zai-org/GLM-5.3-Flash", 2, FP32, 1, 73_809_920, 5_995),
        ("moonshotai/Kimi-K3", 8, FP32, 1, 56_171_520, 13_824),
    ],
)
def test_published_slots_and_tokens(name, tp, state_element_bytes, kv_element_bytes, slot, token):
    shape = find_model(name).shape
    assert state_bytes_per_slot(shape, state_format(tp, state_element_bytes)) == slot
    assert kv_bytes(shape, tp, kv_element_bytes) == token


def test_the_embedded_part_of_a_config_reads_as_the_whole(shared):
    derived = json.loads((shared / "models" / "derived.json").read_text(encoding="utf-8"))["models"]
    assert set(derived) == set(catalog.ids())
    for name, row in derived.items():
        whole = json.loads((shared / "models" / row["file"]).read_text(encoding="utf-8"))
        embedded = catalog.load(name).config
        if row["level"] == "C":
            level = whole.get("text_config", whole)
            level["dtype"] = level.get("dtype") or level.get("torch_dtype") or "bfloat16"
        assert read_model_shape(whole, name=name) == read_model_shape(embedded, name=name)
