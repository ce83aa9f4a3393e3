"""Models by path: folders, config files, quantisation files and the bytes of the weights beside them."""

import json

import pytest

from hybrid_configs import QWEN_NEXT
from poolsplit.errors import InputError
from poolsplit.hub import find_config, find_draft, find_model


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(QWEN_NEXT), encoding="utf-8")
    return tmp_path


def add_weights(folder, name, count):
    header = json.dumps({"w": {"dtype": "BF16", "shape": [count], "data_offsets": [0, 2 * count]}}).encode()
    (folder / name).write_bytes(len(header).to_bytes(8, "little") + header + bytes(2 * count))


def test_a_folder_and_its_file_are_the_same_model(folder):
    by_folder = find_model(str(folder))
    by_file = find_model(str(folder / "config.json"))
    assert by_folder.origin == by_file.origin == "config"
    assert by_folder.shape.state == by_file.shape.state
    assert by_folder.shape.provenance == "exact"
    assert by_file.weights_bytes is None
    assert by_file.weights_source


def test_weights_are_summed_over_the_headers(folder):
    add_weights(folder, "model-00001-of-00002.safetensors", 100)
    add_weights(folder, "model-00002-of-00002.safetensors", 23)
    found = find_model(str(folder))
    assert (found.weights_bytes, found.weights_source) == (246, "headers of 2 safetensors files")


def test_an_index_stands_in_for_files_that_are_not_there(folder):
    (folder / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 1234.0}}', encoding="utf-8")
    assert find_model(str(folder)).weights_bytes == 1234


@pytest.mark.parametrize("text", ["{}", '{"metadata": {}}', '{"metadata": {"total_size": -4}}', '{"metadata": 3}'])
def test_an_index_without_a_total_is_a_reason_and_no_error(folder, text):
    (folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")
    found = find_model(str(folder))
    assert found.weights_bytes is None
    assert "total_size" in found.weights_source


def test_pointers_instead_of_weights_leave_the_index_or_a_reason(folder):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    (folder / "model.safetensors").write_text(pointer, encoding="utf-8")
    found = find_model(str(folder))
    assert found.weights_bytes is None
    assert "model.safetensors" in found.weights_source
    (folder / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 99}}', encoding="utf-8")
    assert find_model(str(folder)).weights_bytes == 99


def test_a_separate_quantisation_file_is_read(folder):
    quantisation = {"producer": {"name": "modelopt"}, "quantization": {"kv_cache_quant_algo": "FP8"}}
    (folder / "hf_quant_config.json").write_text(json.dumps(quantisation), encoding="utf-8")
    assert find_model(str(folder)).shape.kv_quant_dtype == "fp8_e4m3"


def test_the_config_wins_over_a_separate_quantisation_file(folder):
    config = {**QWEN_NEXT, "quantization_config": {"quant_method": "fp8"}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "hf_quant_config.json").write_text('{"quantization": {"kv_cache_quant_algo": "FP8"}}', encoding="utf-8")
    assert find_model(str(folder)).shape.kv_quant_dtype is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": 1,\n "b"}', ":2"),
        ("[]", "not a JSON object"),
        ("", "not JSON"),
        ("[" * 100_000, "not a JSON text"),
        ('{"a": ' + "9" * 5000 + "}", "not a JSON text"),
    ],
)
def test_a_broken_config_is_told_with_its_place(folder, text, what):
    (folder / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        find_config(str(folder))
    assert what in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_folder_without_a_config_is_told(tmp_path):
    with pytest.raises(InputError, match=r"no config\.json"):
        find_config(str(tmp_path))


@pytest.mark.parametrize("name", ["./nothing", "/nothing/at/all", "some/config.json", "a/b/c"])
def test_a_path_that_is_not_there_never_becomes_a_hub_id(name, no_network):
    with pytest.raises(InputError, match="no such file"):
        find_config(name)
    assert not no_network


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "qwen3-next",
        "no such model",
        "a//b",
        "../x y",
        "-/-",
        "x\x00y",
        "a" * 5000,
        "a/" + "b" * 300,
        "~nobody/x",
        "https://example.org/a/b",
        "Qwen/..",
    ],
)
def test_a_name_that_is_nothing_names_the_near_ones_or_the_list(name, no_network):
    with pytest.raises(InputError) as caught:
        find_config(name)
    assert caught.value.hint
    assert not no_network


def test_a_path_wins_over_the_catalog(tmp_path, monkeypatch):
    target = tmp_path / "Qwen" / "Qwen3.5-27B"
    target.mkdir(parents=True)
    (target / "config.json").write_text(json.dumps(QWEN_NEXT), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert find_model("Qwen/Qwen3.5-27B").origin == "config"


def test_a_draft_is_found_the_same_way(folder):
    assert find_draft(str(folder)).layers == QWEN_NEXT["num_hidden_layers"]
    assert find_draft("Qwen/Qwen3.5-27B").name == "Qwen/Qwen3.5-27B"


@pytest.fixture
def no_network(monkeypatch):
    """Hub ids that were asked for."""
    from poolsplit.hub import remote

    asked = []
    monkeypatch.setattr(remote, "read", lambda name, **_: asked.append(name))
    return asked
