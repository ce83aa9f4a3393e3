"""`poolsplit models` and `poolsplit gpus` as a person and as a program use them."""

import json
import subprocess
import sys

import pytest

from hybrid_configs import QWEN_NEXT

FIELDS = {
    "id",
    "family",
    "provenance",
    "source",
    "state_layers",
    "kv_layers",
    "state_bytes_per_slot",
    "kv_bytes_per_token",
    "context_len",
}


def test_all_models_as_json(poolsplit):
    document = poolsplit("models", "--json").document
    assert document["schema_version"] == 1
    assert document["command"] == "models"
    assert document["engine"]["name"] == "sglang"
    models = {model["id"]: model for model in document["models"]}
    assert len(models) == len(document["models"]) > 70
    for model in models.values():
        assert set(model) >= FIELDS
        assert model["provenance"] in {"exact", "published", "derived"}
        assert model["source"]
        assert (model["context_len"] is None) == ("context_len_reason" in model)
        assert (model["weights_bytes"] is None) == ("weights_bytes_reason" in model)
    assert models["Qwen/Qwen3-Next-80B-A3B-Instruct"]["state_bytes_per_slot"] == 77_266_944
    assert models["Qwen/Qwen3-Next-80B-A3B-Instruct"]["kv_bytes_per_token"] == 24_576
    assert models["nvidia/Qwen3.6-27B-NVFP4"]["kv_dtype"] == "fp8_e4m3"


def test_partial_models_say_so_in_every_answer(poolsplit):
    models = poolsplit("models", "--json").document["models"]
    partial = [model for model in models if model["provenance"] == "derived"]
    assert partial
    assert all("partial facts" in model["caution"] for model in partial)
    result = poolsplit("models", partial[0]["id"])
    assert result.stderr.startswith("warning: ")
    assert "partial facts" in result.stderr
    assert "partial facts" in result.stdout
    assert "partial facts" in poolsplit("models", partial[0]["id"], "--json").document["warnings"][0]


def test_one_model_on_one_page(poolsplit):
    result = poolsplit("models", "qwen3.5-397b-a17b")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Qwen/Qwen3.5-397B-A17B\n")
    assert "192,061,440 B" in result.stdout
    assert "step" not in result.stdout
    explained = poolsplit("models", "Qwen/Qwen3.5-397B-A17B", "--explain").stdout
    assert "recurrent_bytes_per_layer" in explained


def test_ranks_are_the_widths_that_divide(poolsplit):
    (model,) = poolsplit("models", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--json").document["models"]
    ranks = {rank["tp_size"]: rank for rank in model["ranks"]}
    assert list(ranks) == [1, 2, 4, 8, 16]
    assert ranks[4]["state_bytes_per_slot"] == 19_316_736
    (jet,) = poolsplit("models", "jet-ai/Jet-Nemotron-2B", "--json").document["models"]
    assert [rank["tp_size"] for rank in jet["ranks"]] == [1, 2, 4]


def test_a_config_of_ones_own(poolsplit, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(QWEN_NEXT), encoding="utf-8")
    (model,) = poolsplit("models", "./config.json", "--json").document["models"]
    assert (model["origin"], model["state_layers"]) == ("config", 6)


@pytest.mark.parametrize(
    ("name", "needles"),
    [
        ("qwen3-next", ("`qwen3-next`", "Qwen/Qwen3-Next-80B-A3B-Instruct")),
        ("nemotron-h-8b", ("nvidia/Nemotron-H-8B-Base-8K",)),
        ("no model like this", ("poolsplit models",)),
        ("./nothing.json", ("./nothing.json",)),
    ],
)
def test_an_unknown_model_names_the_near_ones(poolsplit, name, needles):
    poolsplit("models", name).assert_error(2, *needles)


def test_a_config_that_cannot_be_read_is_named_with_its_key(poolsplit, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**QWEN_NEXT, "linear_num_value_heads": "many"}), encoding="utf-8")
    poolsplit("models", str(path)).assert_error(2, str(path), "`linear_num_value_heads`")
    path.write_text(json.dumps({**QWEN_NEXT, "model_type": "rwkv7"}), encoding="utf-8")
    poolsplit("models", str(path)).assert_error(2, str(path), "`model_type`", "rwkv7")


def test_all_cards(poolsplit):
    document = poolsplit("gpus", "--json").document
    cards = {card["id"]: card for card in document["gpus"]}
    assert cards["h200"]["memory_mib"] == 143_771
    assert cards["h200"]["compute_capability"] == [9, 0]
    assert not cards["mi300x"]["verified"]
    assert all(card["source"] for card in cards.values())
    text = poolsplit("gpus").stdout
    assert all(name in text for name in cards)


def test_an_embedded_model_opens_its_own_file_only():
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "from poolsplit.hub import find_model\n"
        "find_model('Qwen/Qwen3.5-27B')\n"
        "models = [path for path in opened if 'catalog/models' in path]\n"
        "heavy = {'numpy', 'numba', 'huggingface_hub', 'tomllib'} & set(sys.modules)\n"
        "print(len(models), sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1 []"


def test_a_model_of_windows_alone_shows_their_dtype(poolsplit):
    assert "bfloat16" in poolsplit("models", "LiquidAI/LFM2-1.2B").stdout.split("a token")[0]
    assert "float32" in poolsplit("models", "moonshotai/Kimi-K3").stdout.split("a token")[0]
