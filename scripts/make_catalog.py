"""Writes src/poolsplit/shapes/catalog/models from a folder of model configs.

The folder holds `<organisation>__<name>.json` configs, `partial/` with incomplete ones, and `derived.json` with each
model's level (A exact, B published, C derived), source, caution and parameter counts. An entry keeps the keys of the
config that its family reader reads, and nothing else.

    python scripts/make_catalog.py FOLDER [--check]
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "poolsplit" / "shapes" / "catalog" / "models"
sys.path.insert(0, str(ROOT / "src"))

from poolsplit.shapes.families import read_model_shape  # noqa: E402

PROVENANCE = {"A": "exact", "B": "published", "C": "derived"}
PARTIAL = "architecture fields only, not the published file"
QUANTISED = {"FP8": 1.0, "NVFP4": 0.5625}
"""Bytes a parameter of the quantised layers, scales included."""
QUANT_FILE = "the checkpoint's own quantisation file is not here: `auto` may mean fp8 KV, so name --kv-cache-dtype"
KIMI_K3_BYTES = round(2_722_700_000_000 * 0.53125 + 56_800_000_000 * 2)


class Recorder(Mapping[str, Any]):
    """A config that remembers which of its keys were read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {k: Recorder(v) if isinstance(v, Mapping) else v for k, v in values.items()}
        self.seen: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return self.values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def kept(self) -> dict[str, Any]:
        """The keys that were read, nested ones too."""
        return {
            key: value.kept() if isinstance(value, Recorder) else value
            for key, value in self.values.items()
            if key in self.seen and value is not None
        }


def trimmed(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The part of a config that its reader reads.

    Raises:
        ValueError: The part does not read as the whole does.
    """
    recorder = Recorder(config)
    whole = read_model_shape(config, name=name)
    read_model_shape(recorder, name=name)
    kept = recorder.kept()
    if read_model_shape(kept, name=name) != whole:
        raise ValueError(f"{name}: the kept keys read as another shape")
    return kept


def with_dtype(config: dict[str, Any]) -> dict[str, Any]:
    """A partial config with the dtype that its checkpoint is published in."""
    text = config.get("text_config", config)
    if not any(level.get(key) for level in (config, text) for key in ("dtype", "torch_dtype")):
        text["dtype"] = "bfloat16"
    return config


def weights(model: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[int | None, str]:
    """Bytes of the weights and how they were found."""
    name = model["id"]
    if "weights_bytes" not in model:
        return None, "no parameter count is known"
    bf16 = model["weights_bytes"]["bf16"]
    if name == "moonshotai/Kimi-K3":
        return KIMI_K3_BYTES, "estimate: 2722.7e9 expert weights in MXFP4 with scales, 56.8e9 others in 2 bytes"
    text = config.get("text_config", config)
    for ending, element_bytes in QUANTISED.items():
        if name.endswith(ending):
            tied = config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))
            table = text["vocab_size"] * text["hidden_size"] * (1 if tied else 2)
            quantised = model["params_text"] - table
            total = bf16 - 2 * quantised + quantised * element_bytes
            return round(total), f"estimate: layer weights at {element_bytes:g} bytes each, the rest in 2"
    return bf16, "2 bytes a parameter, counted from the config"


def caution(model: Mapping[str, Any], config: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """What every answer that uses this entry must say."""
    parts = []
    if meta:
        note = model.get("caution") or meta.get("note") or ""
        parts.append(f"partial facts: {PARTIAL}" + (f"; {note}" if note else ""))
    quantised = any(model["id"].endswith(ending) for ending in QUANTISED)
    if quantised and "quantization_config" not in config:
        parts.append(QUANT_FILE)
    return "; ".join(parts)


def entry(model: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """One catalog file's content."""
    config = json.loads((folder / model["file"]).read_text(encoding="utf-8"))
    meta = config.pop("_meta", {})
    if meta:
        config = with_dtype(config)
    weights_bytes, weights_source = weights(model, config)
    return {
        "id": model["id"],
        "provenance": PROVENANCE[model["level"]],
        "source": re.sub(r" \(PyPI\)", "", model["source"]),
        "caution": caution(model, config, meta),
        "weights_bytes": weights_bytes,
        "weights_source": weights_source,
        "config": trimmed(config, model["id"]),
    }


def render(document: Mapping[str, Any]) -> str:
    """JSON for people to read: one key a line, lists on one line."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda match: re.sub(r"\s+", " ", match[0]), text) + "\n"


def main() -> int:
    """Writes the files, or with --check says which differ."""
    parser = argparse.ArgumentParser(description="write the embedded catalog")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    models = json.loads((options.folder / "derived.json").read_text(encoding="utf-8"))["models"]
    OUT.mkdir(parents=True, exist_ok=True)
    stale = []
    for model in models.values():
        path = OUT / (model["id"].replace("/", "__") + ".json")
        text = render(entry(model, options.folder))
        if options.check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                stale.append(model["id"])
        else:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"stale: {name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
